// Host memory for suspended jobs: who may displace whom while it lasts.
//
// If it is full, nobody is suspended any more, and whoever runs then keeps its GPUs to its end. So
// a job that displaces others leaves so much that it can be suspended itself: a large one, which
// would block a node, comes in while there is plenty.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "core/base/event.hpp"
#include "core/base/wide.hpp"
#include "core/view.hpp"

namespace berth {

/// What suspended jobs hold, kept from pass to pass.
class HostRoom {
 public:
  /// O(events); O(jobs) in a fresh pass, nothing where the room has no bound.
  void follow(const ClusterView& view, std::span<const Event> events, bool is_fresh);

  static bool is_bounded(const ClusterView& view) {
    return view.settings().suspend_room.has_value();
  }
  /// Whether those that leave and the victims can be suspended, and then the newcomer unless it
  /// stays: all that it asks for fits into what is left for each node on average. Requires:
  /// follow() in this pass; `leaving` and `victims` hold GPUs. O(leaving + victims).
  enum class Then : std::uint8_t { GivesWay, Stays };
  bool admits(const JobView& newcomer, Then then, const ClusterView& view,
              std::span<const JobId> leaving, std::span<const JobId> victims) const {
    if (!is_bounded(view)) return true;
    const Wide need_then = then == Then::Stays ? 0 : need(newcomer, view);
    return left(newcomer, view, leaving, victims) >= need_then;
  }
  /// Whether a waiting job could be suspended after its start on what is free.
  bool has_room_for(const JobView& newcomer, const ClusterView& view) const {
    return admits(newcomer, Then::GivesWay, view, {}, {});
  }

 private:
  /// Of the room without the newcomer, once those are suspended; may be less than nothing.
  /// Requires: is_bounded().
  Wide left(const JobView& newcomer, const ClusterView& view, std::span<const JobId> leaving,
            std::span<const JobId> victims) const;
  /// Of the room, for the newcomer to be suspended. Requires: is_bounded().
  static Wide need(const JobView& newcomer, const ClusterView& view);
  void update(JobId id, const ClusterView& view);

  std::map<JobId, Bytes> held_;  ///< By suspended jobs.
  bool follows_ = false;         ///< The jobs there are were looked at.
  Bytes taken_{0};               ///< By all of them.
};

}  // namespace berth
