// A moment for each of some jobs, and whose is next. O(log jobs) per change.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth {

class Moments {
 public:
  /// In place of the moment that the job had, if it had one.
  void set(JobId job, Instant at) {
    erase(job);
    by_time_.emplace(at, job);
    by_job_.insert(job, at);
  }
  /// A job without a moment changes nothing.
  void erase(JobId job) {
    const Instant* const at = by_job_.find(job);
    if (at == nullptr) return;
    by_time_.erase({*at, job});
    by_job_.erase(job);
  }
  /// Null for a job without one.
  const Instant* find(JobId job) const { return by_job_.find(job); }
  std::optional<Instant> next() const {
    return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
  }
  /// All, the earliest first.
  const std::set<std::pair<Instant, JobId>>& by_time() const { return by_time_; }
  /// Removes the jobs whose moment has come, the earliest first.
  std::vector<JobId> take_due(Instant now) {
    std::vector<JobId> due;
    for (const auto& [at, job] : by_time_) {
      if (at > now) break;
      due.push_back(job);
    }
    for (const JobId job : due) erase(job);
    return due;
  }

 private:
  std::set<std::pair<Instant, JobId>> by_time_;
  IdMap<JobId, Instant> by_job_;
};

}  // namespace berth
