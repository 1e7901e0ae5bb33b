#include "live/user_queues.hpp"

#include <string>

namespace berth::live {

namespace {

constexpr Duration kCountAgain = seconds(1);

std::int64_t jobs_of(const ClusterView& view, UserId user) {
  std::int64_t jobs = 0;
  view.for_each_job([&](const Job& job) { jobs += job.spec.user == user ? 1 : 0; });
  return jobs;
}

}  // namespace

Expected<void> UserQueues::take(const ClusterView& view, UserId user, Instant now,
                                std::int64_t jobs) {
  if (most_ == 0) return {};
  const auto [known, is_new] = users_.try_emplace(user);
  const bool may_have_fewer =
      known->second.jobs + jobs > most_ && now - known->second.counted >= kCountAgain;
  if (is_new || may_have_fewer) known->second = {.jobs = jobs_of(view, user), .counted = now};
  if (known->second.jobs + jobs > most_) {
    return fail(ErrorCode::Conflict, "uid " + std::to_string(user.value()) + " has " +
                                         std::to_string(known->second.jobs) +
                                         " jobs that wait or run and asks for " +
                                         std::to_string(jobs) + " more, the most is " +
                                         std::to_string(most_) + " (user_queue)");
  }
  known->second.jobs += jobs;
  return {};
}

}  // namespace berth::live
