// What waiting jobs ask for, as small numbers: equal for jobs that ask for equal places.
//
// A policy that goes through all jobs in every pass finds in most of them that there is no place
// for what they ask. With this it asks once for each kind, and looks at no other job of it: a
// number is found without a look at the job. Kept from pass to pass; not part of what is saved.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/event.hpp"
#include "core/base/id_map.hpp"
#include "core/view.hpp"

namespace berth {

class AskKinds {
 public:
  using Kind = std::uint32_t;
  /// Of a job that does not wait: what it asks for is its own.
  static constexpr Kind kNone = ~Kind{0};

  /// Once per pass, before of(): what events name may ask for something else now.
  /// O(events + running).
  void follow(const ClusterView& view, std::span<const Event> events) {
    if (kinds_.size() > kMost) *this = {};  // most of them are of jobs that are gone
    for (const Event& event : events) forget(event.job);
    for (const JobId id : view.running()) forget(id);
  }
  /// The kind of this job, which the view knows.
  Kind of(JobId id, const ClusterView& view) {
    const Kind* const known = of_job_.find(id);
    return known != nullptr ? *known : look(id, view);
  }
  /// How many there are: kinds are the numbers below.
  std::size_t size() const { return kinds_.size(); }

 private:
  static constexpr std::size_t kMost = 4096;

  void forget(JobId id) {
    if (of_job_.find(id) != nullptr) of_job_.erase(id);
  }
  Kind look(JobId id, const ClusterView& view) {
    const JobView job = view.job(id);
    if (!is_waiting(job.state())) return kNone;
    Ask ask = ask_of(job);
    ask.planned = kForever;  // no placer reads it, and nearly each job has another
    const auto next = static_cast<Kind>(kinds_.size());
    return of_job_.insert(id, kinds_.try_emplace(std::move(ask), next).first->second);
  }

  std::map<Ask, Kind> kinds_;
  IdMap<JobId, Kind> of_job_;  ///< Of jobs that wait.
};

}  // namespace berth
