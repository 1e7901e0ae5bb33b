// Free capacity over time: running jobs, until they are assumed to leave, and the bookings of
// waiting jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/assert.hpp"
#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/backfill/gaps.hpp"
#include "policy/backfill/holes.hpp"
#include "policy/backfill/levels.hpp"
#include "policy/policy.hpp"

namespace berth {

/// A job that is over its limit is assumed to leave soon, but not now.
inline constexpr Duration kMoment = Duration(1);

/// A time and a place for a waiting job.
struct Booking {
  JobId job;
  Instant from = kNever;  ///< kNever: there is no place.
  Placement place = {};

  bool is_made() const { return from != kNever; }
};

struct Slot {
  Instant from = kNever;
  Placement place = {};
};

/// Whether bookings are numbers of GPUs, or places.
enum class By : std::uint8_t { Number, Place };

/// Values by time, in one sorted array: searches walk it far more often than it changes, and it
/// changes near its ends.
template <class Value>
class ByTime {
 public:
  using Entry = std::pair<Instant, Value>;

  /// O(1); settle() sorts it in.
  void insert(Instant at, Value value) { entries_.emplace_back(at, value); }
  /// Requires: it was inserted and not erased since. O(log n + distance from the nearer end).
  void erase(Instant at, Value value) {
    settle();
    const auto gap = std::lower_bound(begin(), entries_.end(), Entry(at, value));
    BERTH_ASSERT(gap != entries_.end() && *gap == Entry(at, value));
    if (gap - begin() < entries_.end() - gap) {
      std::move_backward(begin(), gap, gap + 1);
      ++first_;
    } else {
      entries_.erase(gap);
    }
    if (first_ > entries_.size() / 2) {
      entries_.erase(entries_.begin(), begin());
      first_ = 0;
    }
    settled_ = entries_.size();
  }
  /// After inserts O(distance from the end + new log new), else O(1).
  void settle() {
    if (settled_ == entries_.size()) return;
    const auto fresh = entries_.begin() + static_cast<std::ptrdiff_t>(settled_);
    std::sort(fresh, entries_.end());
    std::inplace_merge(begin(), fresh, entries_.end());
    settled_ = entries_.size();
  }
  /// Ascending. Requires: settled.
  std::span<const Entry> entries() const { return std::span(entries_).subspan(first_); }

 private:
  auto begin() { return entries_.begin() + static_cast<std::ptrdiff_t>(first_); }

  std::vector<Entry> entries_;  ///< What stands before `first_` is erased.
  std::size_t first_ = 0;
  std::size_t settled_ = 0;
};

/// Which GPUs are, or will be, taken, and for how long. Places are kept from pass to pass: most
/// passes change one or two of hundreds.
class Profile {
 public:
  struct Stay {
    JobId job;
    Instant from = kNever;  ///< In the past for running jobs.
    Instant to = kNever;
    bool is_guess = false;  ///< It has no plan.
    /// By number: of a running job, those that others can have after it. By place: those that it
    /// has alone.
    GpuCount gpus{0};
    Grant grant = {};  ///< By place.

    bool runs() const { return from == Instant::min(); }
  };

  /// What bars others from a GPU, tenants aside.
  struct Bars {
    Bytes foreign{0};
    std::uint64_t reserved = 0;
    bool is_usable = true;
    bool operator==(const Bars&) const = default;
  };

  explicit Profile(By by) : by_(by) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  By by() const { return by_; }

  /// By place: all that a later look goes by.
  struct Memory {
    std::vector<Stay> stays = {};    ///< Of running jobs and of bookings.
    std::vector<Stay> removed = {};  ///< Bookings whose room is not in the holes yet, ascending.
    std::vector<Bars> gpus = {};     ///< As they were last looked at.
    Holes holes = {};

    void leave(Stay stay) {
      const auto key = [](const Stay& one) { return std::pair(one.job, one.from); };
      removed.insert(std::ranges::upper_bound(removed, key(stay), {}, key), std::move(stay));
    }
  };
  Memory memory() const;
  /// Goes on with it. Requires: nothing is in here yet. What does not suit the cluster is left out.
  void recall(Memory memory, const Cluster& cluster);

  /// Brings the running jobs up to date: in every pass, before anything else but remove(), and once
  /// only by number.
  void look(const ClusterView& view);
  /// One that is there already changes nothing.
  void add(const Booking& booking);
  /// A job without a booking changes nothing.
  void remove(JobId job);

  /// How much was looked at so far: stays and gaps, and some for each placement.
  std::int64_t looks() const { return looks_; }

  // A walk over all bookings, each of which is moved if there is an earlier time for it.

  void begin_walk() { holes_.begin_walk(); }
  /// A time before which this job, which is booked from `before` on, cannot begin; nothing if it
  /// can begin at none before that. It is now for all by number, for jobs without GPUs, and in the
  /// first walk of all unless all were booked again. Cost: O(gaps of GPUs with holes), and of all
  /// for a gang.
  std::optional<Instant> may_begin(const JobView& job, const Placer& placer, Instant before) const;
  /// Takes a booking off, to look for an earlier time. Nothing if there is none.
  std::optional<Stay> lift(JobId job);
  /// There was one, so that others may have what was lifted.
  void leave(const Stay& lifted);
  void end_walk() { holes_.end_walk(); }

  /// When a job is looked for a place.
  struct Between {
    Instant from = Instant::min();  ///< It cannot begin sooner, in the past or not.
    Instant before = kNever;
  };
  /// The first of these times from which the job can stay as long as it plans, and where. By number
  /// the place is one that the jobs which run now will have left; by place it is `old` if that will
  /// do, so that looking twice changes nothing whatever the placer draws. Cost: O(stays), and a
  /// placement for each departure at which there are GPUs enough.
  std::optional<Slot> earliest(const JobView& job, const Placer& placer, const Between& when,
                               const Slot& old = {});

  /// From then on, times rest on guesses.
  Instant guessed() const { return guesses_.empty() ? kNever : *guesses_.begin(); }

 private:
  using Stays = std::map<JobId, Stay>;
  class Sweep;

  Instant end_of(const JobView& running) const;
  Stay stay_of(const JobView& running) const;
  GpuCount left_by(const Grant& grant) const;
  void look_at_gpus();
  struct Tenant {
    const Stay* stay;
    Bytes charge;
  };
  struct OnGpu {
    std::vector<Tenant> tenants = {};  ///< Of running jobs and of bookings.
    bool are_known = false;            ///< The gaps,
    std::vector<Gap> empty = {};       ///< of all tenants,
    std::vector<Gap> shared = {};      ///< and of those that are alone.
  };
  /// A job that is looked at, and its own booking, which is not in its way.
  struct Looked {
    JobId job;
    const Ask& ask;
    const Stay* own;
  };
  const std::vector<Gap>& gaps(GpuId gpu, const Looked& looked, std::vector<Gap>& scratch) const;
  std::optional<Instant> may_begin_on(GpuId gpu, const Looked& looked, const Holes::Hole& hole,
                                      Instant before) const;
  std::optional<Instant> may_begin_beside(GpuId gpu, const Looked& looked, const Holes::Hole& hole,
                                          Instant before) const;
  std::optional<Instant> may_gather(const Looked& looked, const Between& when,
                                    std::span<const NodeId> nodes) const;
  enum class Which : std::uint8_t { All, Alone };
  static std::vector<std::pair<Instant, Instant>> stays_on(const OnGpu& on, Which which,
                                                           const Stay* except);
  const OnGpu& known_gaps(GpuId gpu) const;
  /// What holes there are, flat, and how long the gaps of their GPUs are.
  struct HoleRoom {
    LongestGaps empty;
    LongestGaps shared;
    std::vector<std::pair<GpuId, Holes::Hole>> holes = {};
  };
  const HoleRoom& hole_room() const;
  bool may_begin_in_holes(const Looked& looked, Instant before) const;
  bool may_ever_take(GpuId gpu, const Ask& ask) const;
  void insert(Stays& stays, Stay stay);
  Stay erase(Stays& stays, Stays::iterator at);
  std::optional<Slot> by_number(const JobView& job, const Placer& placer, Instant before) const;
  std::optional<Slot> by_place(const JobView& job, const Placer& placer, const Between& when,
                               const Slot& old);
  std::optional<Placement> free_of_running(const JobView& job, const Placer& placer,
                                           Instant at) const;

  By by_;
  const ClusterView* view_ = nullptr;  ///< Of the pass under way.
  Stays running_;
  Stays booked_;
  /// A booking, found by when it begins.
  struct Coming {
    Instant to;
    const Stay* stay;
    auto operator<=>(const Coming&) const = default;
  };
  ByTime<Coming> coming_;
  ByTime<const Stay*> leaving_;        ///< Running jobs, by when they leave.
  ByTime<JobId> departures_;           ///< Of both.
  mutable std::vector<OnGpu> on_gpu_;  ///< By place.
  Levels taken_;                       ///< GPUs that no other job can have.
  std::multiset<Instant> guesses_;     ///< When jobs without a plan are assumed to leave.
  GpuCount all_{0};                    ///< GPUs there will be once no job runs.
  std::vector<Bars> gpus_;             ///< By place: as they were when they were last looked at.
  Holes holes_;
  mutable std::optional<HoleRoom> hole_room_;  ///< Until stays or holes change.
  std::vector<Stay> removed_;                  ///< Not noted there yet.
  mutable std::int64_t looks_ = 0;
};

}  // namespace berth
