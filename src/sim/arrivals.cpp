#include "sim/arrivals.hpp"

#include <algorithm>

namespace berth::sim {

Instant Arrivals::next() const {
  const bool is_left = arrived_ < trace_.jobs.size();
  return std::min(is_left ? trace_.jobs[arrived_].submit : kNever,
                  late_.empty() ? kNever : late_.begin()->first);
}

std::optional<std::size_t> Arrivals::take(Instant now) {
  if (!late_.empty() && late_.begin()->first <= now) {
    return late_.extract(late_.begin()).value().second;
  }
  while (arrived_ < trace_.jobs.size() && trace_.jobs[arrived_].submit == now) {
    const std::size_t job = arrived_++;
    const Instant free_at = options_.dependencies ? dependencies_.free_at(job) : now;
    if (free_at <= now) return job;
    if (free_at != kNever) late_.emplace(free_at, job);
  }
  return std::nullopt;
}

void Arrivals::on_over(std::size_t job, Instant now) {
  if (!options_.dependencies) return;
  for (const std::size_t follower : dependencies_.end(job, now)) {
    if (follower >= arrived_) continue;  // its time has not come yet
    late_.emplace(dependencies_.free_at(follower), follower);
  }
}

}  // namespace berth::sim
