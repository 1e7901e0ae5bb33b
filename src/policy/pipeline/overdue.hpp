// Waiting jobs by the time from which they are overdue.
//
// It is in proportion to the run time, so that a job of minutes is not made to wait as long as one
// of days. Touches only what changed: O(log waiting) per changed job.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "core/view.hpp"
#include "policy/kit/moments.hpp"

namespace berth {

struct PassContext;

/// After how long a waiting job is overdue.
struct OverdueAfter {
  std::int64_t milli = 0;  ///< Thousandths of its run time; 0: never.
  Duration most{0};        ///< But no later than this.
};

class Overdue {
 public:
  explicit Overdue(const OverdueAfter& after) : after_(after) {}

  /// Brings all up to date: once in a pass, before anything else.
  void follow(const PassContext& context);

  /// Waiting jobs and when they are due, the earliest first; empty if no job ever is.
  const std::set<std::pair<Instant, JobId>>& jobs() const { return due_.by_time(); }

 private:
  void update(JobId id, const ClusterView& view);

  OverdueAfter after_;
  Moments due_;
};

/// When a job is overdue: a multiple of its run time after it was submitted, `after.most` later at
/// most. Its run time is its estimate, else its limit; with neither it is due after `after.most`.
Instant due_of(const JobView& job, const OverdueAfter& after);

}  // namespace berth
