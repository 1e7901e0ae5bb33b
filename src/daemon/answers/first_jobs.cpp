#include "daemon/answers/first_jobs.hpp"

#include <algorithm>
#include <utility>

namespace berth::daemon {

namespace {

constexpr std::size_t kLookedAtOnce = 256;  ///< Between two questions for the time.

}  // namespace

bool comes_by_itself(const Job& job) {
  return is_waiting(job.state) || job.state == JobState::Deferred;
}

bool FirstJobs::advance(const ClusterView& view, const std::function<bool()>& has_time) {
  do {
    for (std::size_t looked = 0; looked < kLookedAtOnce; ++looked) {
      const auto id = view.job_from(next_);
      if (!id) return false;
      next_ = JobId(id->value() + 1);
      const Job& job = *view.find(*id);
      if (!comes_by_itself(job)) continue;
      ++waiting_;
      std::vector<JobId>& own = first_[job.spec.user];
      if (own.size() <= most_) own.push_back(*id);
    }
  } while (has_time());
  return true;
}

std::vector<JobId> FirstJobs::take() {
  std::vector<std::pair<UserId, const std::vector<JobId>*>> users;
  for (const auto& [user, jobs] : first_) users.emplace_back(user, &jobs);
  std::ranges::stable_sort(users, {}, [](const auto& entry) { return entry.second->size(); });
  std::vector<JobId> all;
  for (std::size_t u = 0; u < users.size(); ++u) {  // those with few leave room to the rest
    const auto& [user, jobs] = users[u];
    const std::size_t share = (most_ - all.size()) / (users.size() - u);
    const std::size_t own = std::min(share, jobs->size());
    if (own < jobs->size()) left_out_.insert(user);
    all.insert(all.end(), jobs->begin(), jobs->begin() + static_cast<std::ptrdiff_t>(own));
  }
  std::ranges::sort(all);
  return all;
}

std::vector<JobId> with_what_they_wait_for(const ClusterView& view, std::vector<JobId> jobs,
                                           std::size_t most) {
  const std::size_t most_looks = 4 * most;  // each of thousands may wait for the same thousands
  std::set<JobId> all(jobs.begin(), jobs.end());
  std::size_t looks = 0;
  while (!jobs.empty() && all.size() < most && looks < most_looks) {
    const Job* const job = view.find(jobs.back());
    jobs.pop_back();
    if (job == nullptr) continue;
    looks += job->spec.conditions->after.size();
    for (const Dependency& on : job->spec.conditions->after) {
      if (view.knows(on.job) && all.insert(on.job).second) jobs.push_back(on.job);
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace berth::daemon
