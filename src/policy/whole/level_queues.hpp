// Queues of jobs by level, as in a multi-level feedback queue: a job enters the first, moves down
// as it runs, and may go back to the first after waiting. The policy decides when.
//
// Every running or waiting job is in one queue. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/view.hpp"
#include "policy/kit/job_list.hpp"

namespace berth {

class LevelQueues {
 public:
  explicit LevelQueues(std::size_t levels) : queues_(levels) {}

  /// Once per pass: drops jobs that are gone and enqueues new ones that can ever be placed.
  /// Returns: whether there were any, or time has passed since the last call.
  bool update(const ClusterView& view, std::span<const Event> events, const Placer& placer);
  void reject_impossible(Decisions& decisions) const { jobs_.reject_impossible(decisions); }

  std::size_t last_level() const { return queues_.size() - 1; }
  std::size_t level_of(const JobView& job) const { return standings_.at(job.id()).level; }
  /// Run time, and waiting since the job first ran, since it was last promoted.
  Duration executed(const JobView& job) const {
    return job.ran() - standings_.at(job.id()).ran_before;
  }
  Duration waited(const JobView& job) const {
    return job.waited() - standings_.at(job.id()).waited_before;
  }

  /// Moves each running job for which reached(job, level) holds to the tail of the next queue, in
  /// order of arrival. The last queue is the last. O(running).
  template <class Reached>
  void demote(const ClusterView& view, Reached reached);
  /// Moves each waiting job that ran before and for which patient(job) no longer holds to the tail
  /// of the first queue, in order of arrival. O(jobs).
  template <class Patient>
  void promote(const ClusterView& view, Patient patient);

  /// Sorts each queue by rank(job id), smallest first, equals as they are. O(jobs log jobs).
  template <class RankOf>
  void sort(RankOf rank) {
    for (auto& queue : queues_) std::ranges::stable_sort(queue, {}, rank);
  }
  /// All jobs, queue after queue; until this is called again.
  std::span<const JobId> in_order();
  /// Moves jobs that are not wanted to the tail of their queue; `wanted` is by position in
  /// in_order(). Calls visit(job id, level, wanted) for every job. O(jobs).
  template <class Visit>
  void move_back_unless(const std::vector<bool>& wanted, Visit visit);

  Snapshot save() const;
  /// Errors: BadData, if these are not queues of as many levels; `whose` names the policy.
  Expected<void> restore(const Snapshot& bytes, std::string_view whose);

 private:
  struct Standing {
    std::size_t level = 0;
    std::int64_t arrival = 0;   ///< Orders jobs that move at one instant.
    Duration ran_before{0};     ///< Run time that no longer counts.
    Duration waited_before{0};  ///< Waiting that does not count.
  };

  void move(JobId job, std::size_t to);
  void restart(const JobView& job);

  JobList jobs_;  ///< In order of arrival.
  std::vector<std::vector<JobId>> queues_;
  IdMap<JobId, Standing> standings_;
  std::int64_t arrivals_ = 0;
  Instant updated_ = Instant::min();
  std::vector<JobId> order_;    ///< Scratch.
  std::vector<JobId> waiting_;  ///< Scratch.
};

template <class Reached>
void LevelQueues::demote(const ClusterView& view, Reached reached) {
  std::vector<std::pair<std::int64_t, JobId>> down;
  for (const JobId id : view.running()) {
    const Standing* const standing = standings_.find(id);
    if (standing == nullptr || standing->level == last_level()) continue;
    if (reached(view.job(id), standing->level)) down.emplace_back(standing->arrival, id);
  }
  std::ranges::sort(down);
  for (const auto& [arrival, id] : down) move(id, standings_.at(id).level + 1);
}

template <class Visit>
void LevelQueues::move_back_unless(const std::vector<bool>& wanted, Visit visit) {
  auto next = wanted.begin();
  for (std::size_t level = 0; level < queues_.size(); ++level) {
    auto& queue = queues_[level];
    waiting_.clear();
    std::size_t runs = 0;
    for (const JobId id : queue) {
      const bool is_wanted = *next++;
      visit(id, level, is_wanted);
      if (is_wanted) {
        queue[runs++] = id;
      } else {
        waiting_.push_back(id);
      }
    }
    std::ranges::copy(waiting_, queue.begin() + static_cast<std::ptrdiff_t>(runs));
  }
}

template <class Patient>
void LevelQueues::promote(const ClusterView& view, Patient patient) {
  for (const JobId id : jobs_.ids()) {
    const JobView job = view.job(id);
    if (executed(job) == Duration::zero()) {
      standings_.at(id).waited_before = job.waited();
    } else if (level_of(job) > 0 && !holds_berth(job.state()) && !patient(job)) {
      restart(job);
    }
  }
}

}  // namespace berth
