// Why a job waits on a cluster on which Slurm schedules, its jobs, and its GPUs, as text and as
// JSON.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"
#include "cli/slurm/slurm_facts.hpp"

namespace berth::cli {

/// What Slurm's reason means: `jobs of higher priority go first (Priority)`; the word alone where
/// it is unknown.
std::string slurm_reason(const SlurmJob& job);

/// When Slurm plans to start it: `2026-11-30 14:00:15, by Slurm's plan`, or why that is not known.
/// A time that is more than 30 days after `now`, as `2026-11-30T12:00:00`, comes from jobs without
/// time limits.
std::string slurm_start(const SlurmJob& job, std::string_view now);

/// What the node lacks for it: `30 GiB free on a GPU at most`; `fits` for nothing.
std::string slurm_lack(const SlurmJob& job, const SlurmNode& node);

/// `1 GPU with 20 GiB`, `2 whole GPUs on each of 2 nodes`, `no GPU`.
std::string slurm_want(const SlurmWant& want);

struct SlurmView {
  const SlurmFacts& facts;
  std::string now;
};

/// What keeps this node from it, or it to others, by reservations: `is reserved (maint) from
/// 2026-12-01 11:35:50 to 2026-12-01 12:35:50`; "" for nothing, and of a node that the job itself
/// rules out. One that begins later counts if the job's time limit, from now on, reaches it.
std::string slurm_reserved(const SlurmJob& job, const SlurmNode& node, const SlurmView& view);

std::string slurm_why_page(const SlurmJob& job, const SlurmView& view, const Look& look);
Json slurm_why_json(const SlurmJob& job, const SlurmView& view);
/// Of these jobs.
std::string slurm_jobs_page(const std::vector<SlurmJob>& jobs, const SlurmView& view,
                            const Look& look);
Json slurm_job_json(const SlurmJob& job, std::string_view now);
std::string slurm_gpus_page(const SlurmFacts& facts, const Look& look);
Json slurm_gpus_json(const SlurmFacts& facts);

/// Of `scontrol show config`: rows of `berth doctor`.
Json slurm_checks(const SlurmFacts& facts, std::string_view config);

}  // namespace berth::cli
