#include "core/run_estimate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t kOfItsProgram = 2;  ///< So many kinds, the first ones.
constexpr std::size_t kKinds = 6;

/// By the most telling kind first, whether a job that ended is of it.
std::array<bool, kKinds> kinds_of(const Ended& ended, const JobSpec& job, Fingerprint what) {
  const bool program = what != Fingerprint(0) && ended.what == what && ended.user == job.user;
  const bool gpus = ended.gpus == job.request.gpu.count;
  const bool user = ended.user == job.user;
  return {program && gpus, program, user && gpus, user, gpus, true};
}

bool ended_by_itself(const Ended& ended) {
  return ended.outcome != Outcome::Lost && ended.outcome != Outcome::Oom;
}

/// A job whose user says nothing is of the class medium.
std::size_t kinds_that_count(DurationClass stated) {
  return stated == DurationClass::Medium ? kKinds : kOfItsProgram;
}

}  // namespace

std::vector<Duration> runs_like(const JobSpec& job, Fingerprint what, std::span<const Ended> ended,
                                Duration beyond) {
  const std::size_t kinds = kinds_that_count(job.duration_class);
  std::array<std::vector<Duration>, kKinds> runs;
  for (auto at = ended.rbegin(); at != ended.rend() && runs[0].size() < kMostRuns; ++at) {
    if (at->ran <= beyond || !ended_by_itself(*at)) continue;
    const std::array<bool, kKinds> is_of = kinds_of(*at, job, what);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      if (is_of[kind] && runs[kind].size() < kMostRuns) runs[kind].push_back(at->ran);
    }
  }
  const auto found = std::ranges::find_if(runs, [](const auto& list) { return !list.empty(); });
  if (found == runs.end()) return {};
  std::ranges::sort(*found);
  return std::move(*found);
}

Duration median_of(std::span<const Duration> runs) { return runs[(runs.size() - 1) / 2]; }

void learn_estimate(JobSpec& job, Fingerprint what, std::span<const Ended> ended) {
  if (job.estimate != kForever) return;
  const std::vector<Duration> runs = runs_like(job, what, ended);
  if (runs.empty()) return;
  job.estimate = std::max(Duration(1), std::min(median_of(runs), job.time_limit));
  job.learned_from = static_cast<std::int32_t>(runs.size());
}

}  // namespace berth
