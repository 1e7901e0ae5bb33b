// Slurm itself, asked by its own command where no berth-slurm runs: on login nodes, too.
#pragma once

#include <string>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/slurm/slurm_facts.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// Whether the cluster is to be asked: choose_socket() says berth-slurm's socket, and that is not
/// there.
bool is_for_slurm(const CommonOptions& options);

/// Errors: NotFound where there is no scontrol; Io in its own words where it fails.
Expected<SlurmFacts> ask_slurm();
/// `scontrol show config`. Errors: as ask_slurm().
Expected<std::string> ask_slurm_config();

/// `2026-11-30T14:00:15`, in local time as Slurm's are.
std::string slurm_now();

/// The jobs that are named, by number, task or name; all that have not ended for none. Errors:
/// NotFound naming what is no job of Slurm's.
Expected<std::vector<SlurmJob>> slurm_jobs_named(const SlurmFacts& facts,
                                                 const std::vector<std::string>& typed);

}  // namespace berth::cli
