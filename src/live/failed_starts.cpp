#include "live/failed_starts.hpp"

#include <algorithm>

#include "core/text/text.hpp"

namespace berth::live {

Duration wait_after(std::int32_t failed) {
  constexpr Duration kLongest = seconds(30);
  constexpr std::int32_t kMostDoublings = 5;
  return std::min(kLongest, seconds(1) * (1 << std::clamp(failed - 1, 0, kMostDoublings)));
}

std::string failed_start_text(const std::string& why, std::int32_t failed, Duration wait) {
  const std::string text = "could not be started: " + why + " (try " + std::to_string(failed) +
                           " of " + std::to_string(kMostFailedStarts);
  if (failed >= kMostFailedStarts) return text + ")";
  return text + ", the next " + seconds_text(wait) + " s later)";
}

std::vector<std::pair<JobId, Attempt>> FailedStarts::take_due(Instant now) {
  std::vector<std::pair<JobId, Attempt>> due;
  for (const auto& [job, waiting] : waiting_) {
    if (waiting.next <= now) due.emplace_back(job, waiting.attempt);
  }
  for (const auto& [job, attempt] : due) waiting_.erase(job);
  return due;
}

std::optional<Attempt> FailedStarts::take(JobId job) {
  const auto found = waiting_.extract(job);
  return found ? std::optional(found.mapped().attempt) : std::nullopt;
}

std::optional<Instant> FailedStarts::next() const {
  std::optional<Instant> next;
  for (const auto& [job, waiting] : waiting_)
    next = std::min(next.value_or(waiting.next), waiting.next);
  return next;
}

}  // namespace berth::live
