// A cluster on which Slurm schedules, as `scontrol -o -d show` tells of it: what each GPU has left,
// and what each job asks and holds.
//
// Pure functions of texts of Slurm 22.05 to 24.11. Amounts of GPU memory are shards of 1 GiB.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/slurm_lines.hpp"

namespace berth::cli {

/// What an agent of berth's measured.
struct SlurmMeasure {
  std::int64_t used_mib = 0;   ///< By all processes.
  std::int64_t other_mib = 0;  ///< By those of no job.
};

struct SlurmGpu {
  std::int64_t gib = 0;                ///< 0: it has no shards.
  std::int64_t taken = 0;              ///< Of those.
  bool is_whole = false;               ///< A job has it alone.
  std::vector<std::string> jobs = {};  ///< That hold it, by their handles.
  std::optional<SlurmMeasure> measured = {};

  std::int64_t free() const { return is_whole ? 0 : gib - taken; }
};

struct SlurmNode {
  std::string name;
  std::string trouble;  ///< What keeps it from taking jobs, in words; "" if nothing.
  std::vector<SlurmGpu> gpus;
  std::int64_t cpus = 0;  ///< Free ones.
  std::int64_t taken_cpus = 0;
  std::int64_t memory_mib = 0;
  std::set<std::string, std::less<>> partitions;
  std::set<std::string, std::less<>> features;
};

/// What a job asks of each of its nodes.
struct SlurmWant {
  std::int64_t nodes = 1;
  std::int64_t gpus = 0;
  std::int64_t gib = 0;  ///< On each of these; 0: whole GPUs.
  std::int64_t cpus = 1;
  std::int64_t memory_mib = 0;
};

/// A job, a task of an array, or its tasks that wait.
struct SlurmJob {
  std::string handle;  ///< `7`, `8_3`, `8_[2-9]`, `9+1`.
  std::set<std::string, std::less<>>
      names;  ///< Numbers by which it is asked for: `8`, `15`, `8_3`.
  std::string name;
  std::string user;
  std::string state;   ///< Slurm's, as `PENDING`.
  std::string reason;  ///< Slurm's word.
  std::string dependency;
  std::string start;  ///< Slurm's text; "" for none.
  std::string place;  ///< Its nodes.
  std::string note;   ///< Of an agent of berth's: what it held too much; "" for none.
  std::string feature;
  std::string reservation;  ///< That it asks for.
  std::string limit;        ///< Of its time: `1-02:00:00`, `UNLIMITED`.
  std::set<std::string, std::less<>> partitions;
  std::set<std::string, std::less<>> excluded;  ///< Nodes.
  std::set<std::string, std::less<>> required;
  bool is_alone = false;            ///< On its nodes, by --exclusive.
  bool is_for_berth_slurm = false;  ///< Which lets it start; of a partition that is held.
  SlurmWant want;
  std::vector<SlurmHolding> holds;

  bool waits() const { return state == "PENDING"; }
  bool runs() const { return state == "RUNNING" || state == "SUSPENDED" || state == "COMPLETING"; }
};

/// Nodes that are kept for some jobs. Times are Slurm's texts, local as `2026-12-01T11:35:50`.
struct SlurmReservation {
  std::string name;
  std::string start;
  std::string end;
  std::set<std::string, std::less<>> nodes;
  std::set<std::string, std::less<>> users;  ///< By name; none where accounts or groups may.
  std::int64_t cpus = 0;                     ///< Of all its nodes.
};

struct SlurmFacts {
  std::vector<SlurmNode> nodes;
  std::vector<SlurmJob> jobs;
  std::vector<SlurmReservation> reservations = {};
  std::map<std::string, std::string, std::less<>> longest = {};  ///< Time limits of partitions.
};

/// Of `scontrol -o -d show node`, a line for each node, and of the jobs. What cannot be read is
/// left out.
SlurmFacts slurm_facts(std::string_view nodes, const std::vector<SlurmRecord>& jobs);
/// Of `scontrol -o show reservation` and of `scontrol -o show partition`.
void add_reservations(SlurmFacts& facts, std::string_view shown);
void add_partitions(SlurmFacts& facts, std::string_view shown);

}  // namespace berth::cli
