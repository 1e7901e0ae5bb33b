// Room that came free, by GPU, since all bookings were last looked at: what may let one of them
// begin sooner.
//
// A booking that was not moved at that look could begin at no time before its own. It still cannot,
// but on a GPU, or on a node, where something has left since. So most bookings need no search.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/ask.hpp"
#include "core/cluster.hpp"

namespace berth {

class Holes {
 public:
  /// Room may be free from `from` to `to`, at times or all the time.
  struct Hole {
    Instant from = kNever;
    Instant to = kNever;
    /// On the GPU itself; else on its node, which matters to jobs of several GPUs.
    bool is_own = false;
    friend auto members(Hole& v) { return std::tie(v.from, v.to, v.is_own); }
  };

  /// False before the end of a whole walk: room may have come free that is not in here.
  bool are_all() const { return are_all_; }
  /// Ascending by GPU.
  const std::map<GpuId, Hole>& list() const { return holes_; }

  /// What a grant held comes free. O(GPUs of its nodes).
  void note(const Cluster& cluster, const Grant& grant, Instant from, Instant to) {
    const bool has_host = grant.cpu != CpuMilli(0) || grant.memory != Bytes(0);
    for (const Share& share : grant.shares) note(cluster, share.gpu, {from, to, has_host});
    if (!grant.shares.empty()) return;
    const NodeSpec& node = cluster.node(grant.host);
    for (const GpuId gpu : node.gpu_ids()) note(gpu, {from, to, true});
  }
  /// A GPU can take more than before.
  void note(const Cluster& cluster, GpuId gpu, Hole hole) {
    const NodeSpec& node = cluster.node(cluster.node_of(gpu));
    for (const GpuId each : node.gpu_ids()) {
      note(each, {hole.from, hole.to, hole.is_own || each == gpu});
    }
  }

  /// Forgets GPUs that there are not.
  void cut(const Cluster& cluster) {
    const GpuId end(static_cast<GpuId::rep>(cluster.gpus().size()));
    for (auto* const list : {&holes_, &fresh_}) list->erase(list->lower_bound(end), list->end());
  }

  /// All bookings are looked at from now on, one by one. What comes free meanwhile matters to those
  /// behind, and to all in the next walk.
  void begin_walk() {
    fresh_.clear();
    is_whole_ = true;
  }
  void end_walk() {
    holes_ = std::exchange(fresh_, {});
    are_all_ = is_whole_;
  }

 private:
  void note(GpuId gpu, const Hole& hole) {
    for (auto* const list : {&holes_, &fresh_}) {
      Hole& known = list->try_emplace(gpu, hole).first->second;
      known.from = std::min(known.from, hole.from);
      known.to = std::max(known.to, hole.to);
      known.is_own = known.is_own || hole.is_own;
    }
  }

  std::map<GpuId, Hole> holes_;
  std::map<GpuId, Hole> fresh_;  ///< Of the walk under way, and since.
  bool is_whole_ = false;  ///< The walk under way, or the last one, is in here from its beginning.
  bool are_all_ = false;

  friend auto members(Holes& v) { return std::tie(v.holes_, v.fresh_, v.is_whole_, v.are_all_); }
};

}  // namespace berth
