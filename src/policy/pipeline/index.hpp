// The waiting jobs, in order, in lanes of one user and one request shape.
//
// All jobs of a lane ask for the same, so if one is refused, all are: a pass looks
// at lanes, not at jobs. A lane that was refused stays closed until there may be more room. Touches
// only what changed: O(log lane) per changed job.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/view.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/policy.hpp"

namespace berth {

struct LaneKey {
  UserId user;             ///< User 0 for all where users do not matter.
  Ask ask;                 ///< `planned` as the shape says; dropped where it does not matter.
  std::int64_t apart = 0;  ///< Order::lane().
  /// A gate lets a job of which nothing is known wait less than one behind which it may stand.
  bool is_run_known = true;
  auto operator<=>(const LaneKey&) const = default;
};

struct Position {
  Rank rank;
  JobId job;
  auto operator<=>(const Position&) const = default;
};

struct Lane {
  LaneKey key;
  std::set<Position> jobs;
  std::set<std::pair<Duration, JobId>>
      by_run;  ///< The same by Plans::counted_on(), if the shape says so.
  bool closed = false;
  Refusal refusal{.why = Why::Order};  ///< Of the last of its jobs that was looked at.
  std::optional<bool> possible;        ///< Whether its ask could ever be placed; unknown at first.
  std::size_t place = 0;               ///< In PendingIndex::full(), if it has jobs.
  /// The lane_rank() of its first job, where Order::lanes_version() was this.
  struct First {
    JobId job;
    std::uint64_t version;
    Rank rank;
  };
  std::optional<First> first;
};

class PendingIndex {
 public:
  struct Shape {
    bool by_user = false;
    bool by_plan = false;   ///< By the enforced run time to come.
    bool by_known = false;  ///< By whether the run time is known (classes.hpp).
    bool by_run = false;    ///< Lane::by_run is there,
    Plans plans = {};       ///< by what these say.
  };

  bool empty() const { return entries_.size() == 0; }
  std::size_t size() const { return entries_.size(); }
  void clear(Shape shape);
  Shape shape() const { return shape_; }

  /// Adds, removes or moves one job. Returns: its lane, or null if it is not in the index.
  Lane* update(JobId id, const ClusterView& view, const Order& order);
  /// Asks again for the ranks that have expired. Returns: whether there were any.
  bool expire(const ClusterView& view, const Order& order);
  void rerank_all(const ClusterView& view, const Order& order);

  void reopen();
  /// When the next rank expires.
  std::optional<Instant> next_expiry() const;

  /// Null for a job that does not wait here.
  Lane* lane_of(JobId id) const {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? nullptr : entry->lane;
  }
  /// Requires: lane_of(id).
  const Position& position_of(JobId id) const { return entries_.at(id).position; }

  /// Every lane, in a fixed order; some may be empty.
  std::map<LaneKey, Lane>& lanes() { return lanes_; }
  /// Those that have jobs, in any order.
  const std::vector<Lane*>& full() const { return full_; }
  /// Lanes that are not closed; some may be empty.
  std::vector<Lane*>& open() { return open_; }

  /// Removes one job; an unknown job changes nothing.
  void erase(JobId id);

 private:
  struct Entry {
    Lane* lane;
    Position position;
    Duration run;  ///< In Lane::by_run.
    std::optional<Instant> valid_until;
  };
  Lane* insert(const JobView& job, const ClusterView& view, const Order& order);
  void reopen(Lane& lane);
  void leave_full(Lane& lane);
  void drop_empty_lanes();

  Shape shape_;
  std::map<LaneKey, Lane> lanes_;
  std::vector<Lane*> open_;
  std::vector<Lane*> full_;
  IdMap<JobId, Entry> entries_;
  std::set<std::pair<Instant, JobId>> expiries_;
};

}  // namespace berth
