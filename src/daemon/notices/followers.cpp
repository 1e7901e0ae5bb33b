#include "daemon/notices/followers.hpp"

#include <algorithm>
#include <utility>

namespace berth::daemon {

namespace {

constexpr std::size_t kMostDue = std::size_t{1} << 16;
constexpr std::ptrdiff_t kMostStreamsOfAll = 64;  ///< Streams of all jobs, of one user.

}  // namespace

std::string log_name(JobId job) { return std::to_string(job.value()) + ".log"; }

std::string Followers::why_not(UserId user) const {
  const auto found = users_.find(user);
  if (found == users_.end()) return "";
  const auto of_all = std::ranges::count_if(found->second.followers, [](const Follower& one) {
    return !one.job && one.stream->is_open();
  });
  if (of_all < kMostStreamsOfAll) return "";
  return "uid " + std::to_string(user.value()) + " follows all jobs " +
         std::to_string(kMostStreamsOfAll) +
         " times already, which is the limit for one user; end some, or follow one job each";
}

void Followers::on_changed(const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) {
    if (!parts_.keeper.engine().view().knows(job)) parts_.logs.ended(log_name(job));
  }
  for (auto& [user, of_user] : users_) note(user, of_user, jobs);
  std::erase_if(users_, [](const auto& entry) { return entry.second.followers.empty(); });
}

/// A user whose streams are too many to be told of what happens loses them, as one does that reads
/// too slowly.
void Followers::note(UserId user, OfUser& of_user, const std::vector<JobId>& jobs) {
  auto& [followers, due, told, is_over, events] = of_user;
  if (told == 0) {
    std::erase_if(followers, [](const Follower& one) { return !one.stream->is_open(); });
  }
  const bool was_idle = due.empty();
  for (const JobId job : jobs) {
    const auto follows = [job](const Follower& one) { return !one.job || *one.job == job; };
    if (std::ranges::any_of(followers, follows)) due.push_back(job);
  }
  if (due.size() > kMostDue) followers.clear();
  if (was_idle && !due.empty()) {
    parts_.loop.ask_long(user.value(), [this, user] { return go_on(user); });
  }
}

/// A slice. Returns: whether there is more.
bool Followers::go_on(UserId user) {
  const auto found = users_.find(user);
  if (found == users_.end()) return false;
  OfUser& of_user = found->second;
  while (!of_user.due.empty()) {
    if (!tell(of_user)) return true;
    of_user.due.pop_front();
    of_user.told = 0;
    of_user.events.clear();
    if (!parts_.loop.has_time()) break;
  }
  return !of_user.due.empty();
}

/// Of the first change that is due; what a stream holds may have to move for it. Returns: whether
/// all are told.
bool Followers::tell(OfUser& of_user) {
  auto& [followers, due, told, is_over, events] = of_user;
  const JobId id = due.front();
  if (told == 0) is_over = !parts_.keeper.engine().view().knows(id);
  while (told < followers.size()) {
    const Follower& follower = followers[told++];
    if (follower.job && *follower.job != id) continue;
    auto event = events.find(follower.viewer.sees_all);
    if (event == events.end()) {
      const auto job = describe_(id, follower.viewer);
      if (!job) return true;
      event = events.emplace(follower.viewer.sees_all, "event: job\ndata: " + *job + "\n\n").first;
    }
    follower.stream->write(event->second);
    if (follower.job && is_over) follower.stream->close();
    if (!parts_.loop.has_time()) break;
  }
  return told >= followers.size();
}

}  // namespace berth::daemon
