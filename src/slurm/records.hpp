// What Slurm tells of its jobs and nodes, as plain values: what berth reads of them and no more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/outcome.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth::slurm {

using SlurmId = std::uint32_t;

/// A job has the same number in both.
constexpr JobId job_of(SlurmId id) { return JobId(id); }
constexpr SlurmId slurm_id(JobId id) { return static_cast<SlurmId>(id.value()); }

enum class Phase : std::uint8_t { Pending, Running, Suspended, Over };

/// One job, one task of an array, or all tasks of an array that Slurm has not told apart yet.
struct JobRecord {
  SlurmId id = 0;
  SlurmId array = 0;          ///< Its array's number; 0 for a job of none.
  std::uint32_t task = 0;     ///< Its number in the array, where it is one task.
  std::string tasks;          ///< `0-3,7` where it stands for several tasks; "" else.
  std::uint32_t at_once = 0;  ///< Most tasks of its array that run together; 0: no bound.
  uid_t user = 0;
  gid_t group = 0;
  std::string name;
  std::string partition;
  std::string command;
  std::string directory;
  std::string output;  ///< Path with %j and the like filled in.
  std::string admin_comment;
  std::string dependency;               ///< What is not met yet; "" if nothing.
  std::string gres;                     ///< As asked: `gres:shard:g5:20`.
  std::vector<std::string> nodes;       ///< Where it runs; while it is pending, where Slurm has not
                                        ///< finished its last run.
  std::vector<std::string> gres_there;  ///< What it holds, by node.
  Phase phase = Phase::Pending;
  bool is_completing = false;       ///< Over or requeued, and its processes are not all gone.
  bool is_held = false;             ///< Its priority is 0.
  bool is_held_by_user = false;     ///< The same, at its user's wish.
  bool is_requeued_held = false;    ///< The same: its run was ended for that, by whomever.
  std::string reason;               ///< Why it is pending, in words.
  std::string word;                 ///< The same, as `AssocMaxJobsLimit`; "" where unknown.
  Outcome outcome = Outcome::Done;  ///< Where it is over.
  std::int32_t exit_code = 0;
  std::string why_over;  ///< Slurm's word for an end other than that of its process.
  std::uint32_t restarts = 0;
  std::int64_t begin = 0;    ///< Not before; seconds since 1970, as are all times here.
  std::int64_t started = 0;  ///< Where it is not pending; of a job that never ran, its end.
  std::int64_t ended = 0;    ///< Where it is over.
  std::uint32_t cpus = 0;    ///< On all its nodes.
  Bytes memory{0};           ///< Host memory on each node; 0: Slurm's default.
  Duration time_limit = kForever;

  bool operator==(const JobRecord&) const = default;
};

struct NodeRecord {
  std::string name;
  std::string gres;  ///< As configured: `gpu:g0:1,shard:g0:80,...`.
  std::uint32_t cpus = 0;
  Bytes memory{0};
  bool has_reported = true;  ///< Since the controller started; before, its shards are not told.
  bool takes_jobs = true;    ///< It is up and not drained.
  std::string state;         ///< What keeps it from that, in words.
  std::string extra;         ///< What its agent tells: node/report.hpp.

  bool operator==(const NodeRecord&) const = default;
};

}  // namespace berth::slurm
