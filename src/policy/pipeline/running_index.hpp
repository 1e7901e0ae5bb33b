// The running jobs, from the worst rank on: the jobs that a waiting job may displace.
//
// Ranks that move alike (Ranked::drift) keep their order for ever, so these jobs stand in one
// sorted set, by what their rank would have been at the origin of time. A pass merges the worst
// ends of the sets, as far as it must; of jobs whose ranks move otherwise it asks all. Touches only
// what changed: O(log running) per changed job.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/assert.hpp"
#include "core/base/id_map.hpp"
#include "core/base/wide.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

struct PassContext;

class RunningIndex {
 public:
  struct Standing {
    Wide major_at_origin;  ///< A rank at the origin may lie far outside of 64 bits.
    std::int64_t minor;
    JobId job;
    auto operator<=>(const Standing&) const = default;
  };
  using Alike = std::set<Standing>;

  /// Brings all up to date: once in a pass, before anything else.
  void follow(const PassContext& context);

  /// Forgets all jobs. From now on a job that got its berth less than `quantum` ago is safe.
  void clear(Duration quantum);
  Duration quantum() const { return quantum_; }

  /// Adds, removes or moves one job.
  void update(JobId id, const ClusterView& view, const Order& order);
  /// Asks again for the ranks that have expired, and ends the safety of jobs whose quantum is over.
  void expire(const ClusterView& view, const Order& order);

  /// When a rank or a job's safety ends, so that a waiting job may displace others.
  std::optional<Instant> next_change() const;

  /// True if nothing stops and, since the last pass, time has not brought any job nearer to being
  /// displaced: ranks only improve, and no safety is over.
  bool is_still(Instant now) const;

  /// The jobs that are stopping.
  const std::set<JobId>& leaving() const { return leaving_; }
  /// True if only stopping jobs hold a berth.
  bool empty() const { return entries_.size() == leaving_.size(); }

  /// The jobs that may be displaced: those whose ranks move by this much every
  /// microsecond,
  const std::map<std::int64_t, Alike>& drifting() const { return drifting_; }
  /// of them those that are worse than this rank now, until `visit` returns true; unsorted,
  template <class Visit>
  bool any_worse(Rank rank, Instant now, Visit visit) const {
    for (const auto& [drift, alike] : drifting_) {
      const Wide bound = Wide{rank.major} - Wide{drift} * micros(now);
      for (const Standing& at : alike | std::views::reverse) {
        if (std::tie(at.major_at_origin, at.minor) <= std::tie(bound, rank.minor)) break;
        if (visit(at.job)) return true;
      }
    }
    return false;
  }
  /// and those whose ranks must be asked for.
  const std::set<JobId>& others() const { return others_; }

 private:
  struct Entry {
    std::optional<std::pair<std::int64_t, Standing>> drifting;
    std::optional<Instant> change;     ///< In `changes_`.
    std::optional<Instant> ask_again;  ///< In `ask_again_`: no waiting job can gain by it.
  };
  using Times = std::set<std::pair<Instant, JobId>>;

  void erase(JobId id);
  void stand(const JobView& job, const ClusterView& view, const Order& order);

  Duration quantum_{0};
  IdMap<JobId, Entry> entries_;
  std::map<std::int64_t, Alike> drifting_;
  std::set<JobId> others_;
  std::set<JobId> leaving_;
  Times changes_;
  Times ask_again_;
};

/// A running job that may have to give way.
struct Displaceable {
  Rank rank;
  JobId job;
  bool gone = false;  ///< Displaced in this pass.
};

/// The same in one pass: from the worst rank on, found on demand.
class WorstFirst {
 public:
  /// Requires: both outlive it.
  WorstFirst(const RunningIndex& index, const ClusterView& view) : index_(index), view_(view) {}
  void add(const Displaceable& one);  ///< Call it for the index's others before the first at().

  /// Null if there are not so many. Valid until the next call.
  Displaceable* at(std::size_t place);
  /// What it holds. Requires: at(place).
  const Grant& grant(std::size_t place) const {
    BERTH_ASSERT(place < found_.size());
    return view_.find(found_[place].job)->grant;
  }

 private:
  struct Next {
    Displaceable job;
    const std::pair<const std::int64_t, RunningIndex::Alike>* from;  ///< Null for the others.
    RunningIndex::Alike::const_reverse_iterator after;
  };
  static bool is_better(const Next& a, const Next& b);
  void push(const std::pair<const std::int64_t, RunningIndex::Alike>& from,
            const RunningIndex::Alike::const_reverse_iterator& at);

  const RunningIndex& index_;
  const ClusterView& view_;
  bool has_begun_ = false;
  std::vector<Displaceable> found_;
  std::vector<Next> next_;  ///< A heap, the worst first.
};

}  // namespace berth
