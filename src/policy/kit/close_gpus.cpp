#include "policy/kit/close_gpus.hpp"

#include <algorithm>
#include <optional>

namespace berth {

namespace {

constexpr int kMostSteps = 100'000;  ///< More than sixteen GPUs need.

/// All sets in the order of their members, without those that begin worse than the best found.
class Search {
 public:
  Search(const Cluster& cluster, std::span<const GpuId> sure, std::span<const GpuId> open)
      : cluster_(cluster), open_(open), chosen_(sure.begin(), sure.end()), sure_(sure.size()) {}

  std::vector<GpuId> run(std::uint32_t count) {
    choose(0, count, closeness_of(cluster_, chosen_));
    return best_;
  }

 private:
  void choose(std::size_t from, std::uint32_t missing, Closeness so_far) {
    if (steps_++ > kMostSteps && !best_.empty()) return;
    if (found_ && so_far > *found_) return;  // it only grows
    if (missing == 0) return keep(so_far);
    for (std::size_t at = from; at + missing <= open_.size(); ++at) {
      Closeness grown = so_far;
      for (const GpuId other : chosen_) {
        const std::uint32_t distance = cluster_.distance(open_[at], other);
        grown.farthest = std::max(grown.farthest, distance);
        grown.sum += distance;
      }
      chosen_.push_back(open_[at]);
      choose(at + 1, missing - 1, grown);
      chosen_.pop_back();
    }
  }

  void keep(Closeness closeness) {
    const std::uint32_t apart = distance_to_rest();
    if (found_ && closeness == *found_ && apart <= apart_) return;
    found_ = closeness;
    apart_ = apart;
    best_.assign(chosen_.begin() + static_cast<std::ptrdiff_t>(sure_), chosen_.end());
  }

  std::uint32_t distance_to_rest() const {
    std::uint32_t sum = 0;
    for (const GpuId left : open_) {
      if (std::ranges::find(chosen_, left) != chosen_.end()) continue;
      for (const GpuId one : chosen_) sum += cluster_.distance(left, one);
    }
    return sum;
  }

  const Cluster& cluster_;
  std::span<const GpuId> open_;
  std::vector<GpuId> chosen_;
  std::size_t sure_;
  std::optional<Closeness> found_;
  std::uint32_t apart_ = 0;
  std::vector<GpuId> best_;
  int steps_ = 0;
};

}  // namespace

Closeness closeness_of(const Cluster& cluster, std::span<const GpuId> gpus) {
  Closeness closeness;
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    for (std::size_t other = one + 1; other < gpus.size(); ++other) {
      const std::uint32_t distance = cluster.distance(gpus[one], gpus[other]);
      closeness.farthest = std::max(closeness.farthest, distance);
      closeness.sum += distance;
    }
  }
  return closeness;
}

std::vector<GpuId> closest_of(const Cluster& cluster, std::span<const GpuId> sure,
                              std::span<const GpuId> open, std::uint32_t count) {
  const bool is_plain =
      count == 0 || count >= open.size() || !cluster.is_uneven(cluster.node_of(open.front()));
  if (is_plain)
    return {open.begin(), open.begin() + std::min<std::ptrdiff_t>(count, std::ssize(open))};
  return Search(cluster, sure, open).run(count);
}

}  // namespace berth
