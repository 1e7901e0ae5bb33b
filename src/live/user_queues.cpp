#include "live/user_queues.hpp"

#include <string>

namespace berth::live {

namespace {

constexpr Duration kCountAgain = seconds(1);

}  // namespace

void UserQueues::count_all(const ClusterView& view) {
  if (most_ == 0) return;
  view.for_each_job([&](const Job& job) { ++users_[job.spec.user].jobs; });
}

bool UserQueues::may_have_fewer(UserId user, Instant now, std::int64_t jobs) const {
  const auto known = users_.find(user);
  return most_ != 0 && known != users_.end() && known->second.jobs + jobs > most_ &&
         now - known->second.counted >= kCountAgain;
}

bool UserQueues::count(Count& under_way, const ClusterView& view,
                       const std::function<bool()>& has_time) {
  constexpr int kJobsAtOnce = 256;
  Known& known = users_[under_way.user];
  if (under_way.next == JobId()) known.since = 0;
  auto id = view.job_from(under_way.next);
  for (int looked = 0; id; id = view.job_from(under_way.next)) {
    if (view.find(*id)->spec.user == under_way.user) ++under_way.jobs;
    under_way.next = JobId(id->value() + 1);
    if (++looked % kJobsAtOnce == 0 && !has_time()) return true;
  }
  known = {.jobs = under_way.jobs + known.since, .since = 0, .counted = under_way.began};
  return false;
}

Expected<void> UserQueues::take(UserId user, Instant now, std::int64_t jobs) {
  if (most_ == 0) return {};
  Known& known = users_[user];
  if (known.jobs + jobs > most_) {
    return fail(ErrorCode::Conflict,
                "uid " + std::to_string(user.value()) + " has " + std::to_string(known.jobs) +
                    " jobs that wait or run and asks for " + std::to_string(jobs) +
                    " more, the most is " + std::to_string(most_) + " (user_queue)");
  }
  known.jobs += jobs;
  known.since += jobs;
  known.counted = now;
  return {};
}

}  // namespace berth::live
