// What a seed stands for: a cluster, a policy, jobs, and which kinds of trouble
// there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/cluster.hpp"
#include "live/keeper.hpp"

namespace berth::dst {

/// Faults planted to prove that the checks find them.
enum class Defect : std::uint8_t {
  None,
  ForgetsAStart,     ///< An effect is skipped although it was written.
  DropsAnEnd,        ///< The end of an attempt is never told.
  StartsAgain,       ///< After a crash what runs is launched without a look at its
                     ///< file.
  AnswersTooEarly,   ///< A user is told before the disk is.
  DiskLies,          ///< A sync that does not.
  ForgetsWrites,     ///< What was written goes with the process.
  ReleasesTooEarly,  ///< Memory counts as free when the job's own process ended.
  ShowsOldFigures,   ///< Every look is the first one again.
  HidesBadGpus,      ///< A look at a broken GPU is the last good one again.
  LosesAlarms,       ///< Of three that are set one never rings.
  CopiesTooLate,     ///< A snapshot is of a later state than it says.
};

/// Kinds of trouble; a seed has some of them.
struct Troubles {
  bool kills = false;         ///< The daemon dies, anywhere.
  bool power_losses = false;  ///< The machine does.
  bool restarts = false;      ///< Clean ones, some with another policy.
  bool full_disk = false;
  bool failed_syncs = false;
  bool lost_nodes = false;
  bool broken_gpus = false;  ///< No answer, an error, an Xid.
  bool foreign_use = false;
  bool failed_starts = false;
  bool slow_starts = false;
  bool lost_shims = false;
  bool late_news = false;  ///< Late and out of order.
  bool old_news = false;   ///< Told again.
  bool clock_jumps = false;
  bool overruns = false;         ///< Jobs that take more memory than they asked for.
  bool second_thoughts = false;  ///< Cancels, holds, updates.
};

/// What a job does, whatever berth was told.
struct Script {
  JobSpec spec;
  Instant submit;
  Duration work{0};
  Bytes needs{0};  ///< Of each GPU, in the end.
  int code = 0;
  bool held = false;
};

struct Plan {
  std::uint64_t seed = 0;
  Cluster cluster;
  live::Rules rules;
  Troubles troubles;
  std::vector<Script> scripts;
  Instant calm;                  ///< No trouble from here on.
  Duration probe = seconds(20);  ///< Between looks at all GPUs.
  live::SnapshotSizes snapshots;
};

Plan plan_of(std::uint64_t seed);
/// Another policy and other keys, as an administrator may choose between two
/// starts.
live::Rules other_rules(const live::Rules& rules, Rng& rng);
/// `seed 7: headroom/best-fit, guarantee, 2 nodes, 5 GPUs, 14 jobs; kills, full
/// disk`.
std::string to_text(const Plan& plan);

}  // namespace berth::dst
