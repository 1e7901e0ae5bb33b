// Slurm's controller through libslurm. The only file pair that sees its header.
//
// Calls block: for as long as the controller takes, and some seconds where there is none. For one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "slurm/orders.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

class Client {
 public:
  /// Reads Slurm's configuration: this file's, or with "" that of $SLURM_CONF or the system. A
  /// configuration that is missing ends the process, as libslurm does that. Once in a process.
  static void open(const std::string& configuration);

  /// All jobs; nothing if none changed since the last call. Errors: Io.
  Expected<std::optional<std::vector<JobRecord>>> jobs();
  /// All nodes; nothing if none changed since the last call. Errors: Io.
  Expected<std::optional<std::vector<NodeRecord>>> nodes();
  /// Forgets what was told, so that the next calls tell all.
  void forget() { jobs_at_ = nodes_at_ = 0; }

  /// Returns: the number of a submitted job; else 0. Errors: Io where the controller does not
  /// answer, so that it may have been done; Conflict, in Slurm's words, where it refuses.
  Expected<SlurmId> perform(const Order& order);

  /// The version that answers. Errors: Io.
  static Expected<std::string> version();

 private:
  std::int64_t jobs_at_ = 0;
  std::int64_t nodes_at_ = 0;
};

}  // namespace berth::slurm
