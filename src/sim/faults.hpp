// Nodes and single GPUs that fail and are repaired, after times drawn exponentially by the seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/input.hpp"
#include "sim/alternation.hpp"

namespace berth::sim {

struct FaultModel {
  Duration node_mtbf = kForever;  ///< Mean time a node is up; kForever: none fails.
  Duration gpu_mtbf = kForever;   ///< Likewise of a GPU.
  Duration repair = hours(1);     ///< Mean time either is down.

  bool is_on() const { return node_mtbf != kForever || gpu_mtbf != kForever; }
};

/// `node-mtbf=30d,gpu-mtbf=90d,repair=2h`, in any order and one of the first two at least. Errors:
/// InvalidArgument naming the text.
Expected<FaultModel> parse_faults(std::string_view text);

class Faults {
 public:
  /// All nodes and GPUs are up at `from`.
  Faults(const Cluster& cluster, const FaultModel& model, std::uint64_t seed, Instant from);

  /// The engine's inputs.
  using Change = std::variant<NodeHealth, GpuHealth>;
  /// kNever if nothing fails.
  Instant next() const { return std::min(nodes_.next(), gpus_.next()); }
  /// What happens next, if it is due; of one instant nodes first.
  std::optional<Change> take(Instant now);
  bool all_up() const { return nodes_.all_off() && gpus_.all_off(); }

 private:
  Alternation nodes_;  ///< On: down.
  Alternation gpus_;
};

}  // namespace berth::sim
