// Slurm's controller through libslurm. The only file pair that sees its header.
//
// Calls block: for as long as the controller takes, and some seconds where there is none. For one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "slurm/orders.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

/// What changed of the jobs.
struct JobNews {
  std::vector<JobRecord> jobs;  ///< New or changed, in Slurm's order.
  std::vector<SlurmId> gone;    ///< That Slurm has forgotten, ascending.
  std::size_t looked_at = 0;    ///< Jobs that Slurm told; 0 where it said that nothing changed.
};

class Client {
 public:
  /// Reads Slurm's configuration: this file's, or with "" that of $SLURM_CONF or the system. A
  /// configuration that is missing ends the process, as libslurm does that. Once in a process.
  static void open(const std::string& configuration);

  /// What changed since the last call; all jobs at first. Slurm tells all jobs if any changed; a
  /// job that did not costs a look at its texts and no copy. Errors: Io.
  Expected<JobNews> jobs();
  /// All nodes; nothing if none changed since the last call. Errors: Io.
  Expected<std::optional<std::vector<NodeRecord>>> nodes();
  /// Forgets what was told, so that the next calls tell all.
  void forget() { *this = Client(); }

  /// Returns: the number of a submitted job; else 0. Errors: Io where the controller does not
  /// answer, so that it may have been done; Conflict, in Slurm's words, where it refuses.
  Expected<SlurmId> perform(const Order& order);

  /// What Slurm knows a job by: `833_399` of a task, as the number of an array's last task is that
  /// of the whole array, too.
  std::string name_of(SlurmId id) const;

  /// The version that answers. Errors: Io.
  static Expected<std::string> version();

 private:
  /// What was told of a job, as a number.
  struct Told {
    SlurmId id = 0;
    std::uint64_t print = 0;
    std::string task;  ///< `833_399` of a task of an array; "" for another job.
  };

  std::vector<Told> told_;  ///< In the latest call, ascending.
  std::int64_t jobs_at_ = 0;
  std::int64_t nodes_at_ = 0;
};

}  // namespace berth::slurm
