// Nodes that fail and are repaired: after times drawn exponentially, by the seed, node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/cluster.hpp"
#include "core/error.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"

namespace berth::sim {

struct FaultModel {
  Duration node_mtbf = kForever;  ///< Mean time a node is up; kForever: nothing fails.
  Duration repair = hours(1);     ///< Mean time it is down.

  bool is_on() const { return node_mtbf != kForever; }
};

/// `node-mtbf=30d,repair=2h`, in any order. Errors: InvalidArgument naming the text.
Expected<FaultModel> parse_faults(std::string_view text);

/// Exponential with this mean, in integer arithmetic: the same with every compiler. Above zero, and
/// at most 45 means.
Duration draw_exponential(Rng& rng, Duration mean);

class Faults {
 public:
  /// Every node is up at `from`.
  Faults(const Cluster& cluster, const FaultModel& model, std::uint64_t seed, Instant from);

  struct Change {
    NodeId node;
    bool healthy = true;
  };
  /// kNever if nothing fails.
  Instant next() const { return next_.empty() ? kNever : next_.begin()->first; }
  /// What happens next, if it is due.
  std::optional<Change> take(Instant now);
  bool all_up() const { return down_ == 0; }

 private:
  struct Node {
    Rng rng;
    bool up = true;
  };

  FaultModel model_;
  std::vector<Node> nodes_;
  std::set<std::pair<Instant, NodeId>> next_;
  std::size_t down_ = 0;
};

}  // namespace berth::sim
