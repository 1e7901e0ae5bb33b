// What is left to do of the jobs that run: the part of the cluster that each takes times the rest
// of its run time. Touches only what changed: O(log running) per changed job.
#pragma once

#include <span>

#include "core/base/event.hpp"
#include "core/base/id_map.hpp"
#include "core/view.hpp"
#include "policy/kit/moments.hpp"
#include "policy/order/backlog.hpp"
#include "policy/order/class_judge.hpp"

namespace berth {

class RunningWork {
 public:
  /// Once in a pass, after judge.judge(). `is_fresh`: the running jobs were not looked at yet.
  void follow(const ClusterView& view, std::span<const Event> events, const ClassJudge& judge,
              bool is_fresh);
  /// Requires: follow() in this pass.
  Work left(Instant now) const { return ends_ - parts_ * micros(now) + still_; }

 private:
  /// Of a job that goes on, its part and when its work is done; else what is left of it.
  struct Entry {
    Work part = 0;
    Work end = 0;  ///< Part x microseconds.
    Work still = 0;
  };
  void update(JobId id, const ClusterView& view, const ClassJudge& judge);
  void erase(JobId id);
  void count(const Entry& entry, int sign);

  IdMap<JobId, Entry> entries_;
  Moments done_;    ///< When nothing is left of a job that goes on.
  Work parts_ = 0;  ///< The sums of all.
  Work ends_ = 0;
  Work still_ = 0;
};

}  // namespace berth
