#include "daemon/followers.hpp"

#include <algorithm>
#include <map>

namespace berth::daemon {

std::string log_name(JobId job) { return std::to_string(job.value()) + ".log"; }

void Followers::on_changed(const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) {
    const bool is_over = !keeper_.engine().view().knows(job);
    if (is_over) logs_.ended(log_name(job));
    publish(job, is_over);
  }
  std::erase_if(followers_, [](const Follower& follower) { return !follower.stream->is_open(); });
}

void Followers::publish(JobId id, bool is_over) {
  const auto follows = [&](const Follower& f) { return !f.job || *f.job == id; };
  if (std::ranges::none_of(followers_, follows)) return;
  std::map<std::optional<UserId>, std::string> events;  // nothing for those who see all
  for (const Follower& follower : followers_) {
    if (!follows(follower)) continue;
    const Viewer& viewer = follower.viewer;
    const auto key = viewer.sees_all ? std::nullopt : std::optional(viewer.user);
    auto event = events.find(key);
    if (event == events.end()) {
      const auto job = describe_(id, viewer);
      if (!job) return;
      event = events.emplace(key, "event: job\ndata: " + *job + "\n\n").first;
    }
    follower.stream->write(event->second);
    if (follower.job && is_over) follower.stream->close();
  }
}

}  // namespace berth::daemon
