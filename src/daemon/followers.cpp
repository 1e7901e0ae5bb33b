#include "daemon/followers.hpp"

#include <algorithm>

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
  const auto job = describe_(id);
  if (!job) return;
  const std::string event = "event: job\ndata: " + *job + "\n\n";
  for (const Follower& follower : followers_) {
    if (!follows(follower)) continue;
    follower.stream->write(event);
    if (follower.job && is_over) follower.stream->close();
  }
}

}  // namespace berth::daemon
