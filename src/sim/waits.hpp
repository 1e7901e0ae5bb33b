// Why jobs wait, over a run: time by reason, in the words of `berth why`.
//
// What the policy decided is the reason; the books say in detail what room is lacking. Jobs that
// ask alike wait for the same reason, so reasons belong to shapes: one ask, of one user if users
// have limits; the policy is asked about the first job of a shape. After each step only the GPUs
// that changed are looked at, for each shape that waits. doc/metrics.md defines each reason.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/view.hpp"
#include "engine/engine.hpp"

namespace berth::sim {

enum class WaitReason : std::uint8_t {
  Order,          ///< A place is there: only its turn, by the policy, has not come.
  Reservation,    ///< A place is there, but kept for others.
  Limit,          ///< Its user is at a limit.
  Health,         ///< It would fit were no GPU out of service.
  Capacity,       ///< The GPUs are taken.
  Memory,         ///< GPUs would take one more tenant, and have too little memory for it.
  Fragmentation,  ///< There is enough in all of memory and compute, but in pieces.
  Locality,       ///< Enough GPUs could take it, but not as the placement wants them together.
  Dependency,     ///< A job that it comes after has not ended.
  Host,           ///< Enough GPUs could take it, but their nodes lack cores or memory.
  Patience,       ///< A place is there: the policy lets it wait for a better one.
};
inline constexpr std::size_t kWaitReasons = 11;

std::string_view word_for(WaitReason reason);

/// Waiting time of all jobs together.
using WaitTimes = std::array<Duration, kWaitReasons>;

class Waits {
 public:
  explicit Waits(const Cluster& cluster) : cluster_(cluster) {}

  /// This job, or the tenants of this GPU, may have changed in the step to be settled.
  void touch(JobId job) { jobs_.insert(job); }
  void touch(GpuId gpu) { gpus_.insert(gpu); }

  /// After each step of the engine.
  void settle(const Engine& engine);
  /// Waited outside of the engine.
  void add(WaitReason reason, Duration time) { times_[static_cast<std::size_t>(reason)] += time; }
  /// Up to the latest settle().
  const WaitTimes& times() const { return times_; }

 private:
  /// What a GPU is to an ask.
  enum class Room : std::uint8_t { Fits, LacksMemory, Taken, OutOfService, Unsuitable };
  static constexpr std::size_t kRooms = 5;

  struct Key {
    UserId user;  ///< User 0 for all where there are no limits.
    Ask ask;      ///< Without its plan.
    auto operator<=>(const Key&) const = default;
  };
  /// A GPU as one ask sees it; what is free there counts where one more tenant may come.
  struct Seen {
    Room room = Room::Unsuitable;
    Bytes memory{0};
    GpuMilli milli{0};
  };
  struct Shape {
    std::set<JobId> jobs;
    WaitReason reason = WaitReason::Order;
    Instant since;    ///< Its jobs' time is counted up to here.
    Bytes wanted{0};  ///< Memory on the largest GPU it accepts.
    std::vector<Seen> gpus;
    std::array<std::int64_t, kRooms> count{};  ///< Of the GPUs, by room.
    Bytes memory{0};                           ///< Free on all of them,
    GpuMilli milli{0};                         ///< and compute.
  };
  using Shapes = std::map<Key, Shape>;

  void count(Shape& shape, Instant now);
  void update(JobId job, const Engine& engine);
  void look(const Key& key, Shape& shape, const ClusterView& view) const;
  void look(const Key& key, Shape& shape, GpuId gpu, const ClusterView& view) const;
  Seen seen(const Ask& ask, GpuId gpu, const ClusterView& view) const;
  Room room(const Ask& ask, GpuId gpu, const ClusterView& view) const;
  WaitReason reason(const Key& key, const Shape& shape, const Engine& engine) const;
  WaitReason lack(const Ask& ask, const Shape& shape) const;
  bool lacks_host(const Ask& ask, const Shape& shape, const ClusterView& view) const;

  const Cluster& cluster_;
  Shapes shapes_;
  std::map<JobId, Shapes::iterator> waiting_;
  std::set<JobId> jobs_;
  std::set<GpuId> gpus_;
  WaitTimes times_{};
};

}  // namespace berth::sim
