#include "policy/order/run_history.hpp"

#include <algorithm>
#include <array>

namespace berth {

namespace {

constexpr std::int64_t kWindow = 32;
constexpr std::size_t kMostMeans = 16'384;
constexpr std::int64_t kMostLessons = std::int64_t{1} << 60;

/// The kinds a job is of, the most telling first. One that names no program is of fewer.
std::array<RunTraits, 6> kinds_of(const RunTraits& job) {
  return {{{job.user, job.program, job.gpus},
           {job.user, job.program, -1},
           {job.user, 0, job.gpus},
           {job.user, 0, -1},
           {-1, 0, job.gpus},
           {-1, 0, -1}}};
}

}  // namespace

void RunHistory::learn(const RunTraits& job, Duration ran) {
  ++memory_.lessons;
  const std::array<Kind, 6> kinds = kinds_of(job);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (std::find(kinds.begin(), kinds.begin() + i, kinds[i]) != kinds.begin() + i) continue;
    Mean& mean = memory_.means[kinds[i]];
    mean.times = std::min(mean.times + 1, kWindow);
    mean.run += (std::min(ran, kLongestRun) - mean.run) / mean.times;
    by_age_.erase({mean.latest, kinds[i]});
    mean.latest = memory_.lessons;
    by_age_.insert({mean.latest, kinds[i]});
  }
  forget_the_oldest();
}

void RunHistory::forget_the_oldest() {
  while (memory_.means.size() > kMostMeans) {
    memory_.means.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
}

Duration RunHistory::expected(const RunTraits& job) const {
  for (const Kind& kind : kinds_of(job)) {
    const auto found = memory_.means.find(kind);
    if (found != memory_.means.end()) return found->second.run;
  }
  return kForever;
}

bool RunHistory::is_sane(const Memory& memory) {
  const auto is_mean = [&](const auto& entry) {
    const Mean& mean = entry.second;
    return mean.run >= Duration::zero() && mean.run <= kLongestRun && mean.times >= 1 &&
           mean.times <= kWindow && mean.latest <= memory.lessons;
  };
  return memory.lessons >= 0 && memory.lessons <= kMostLessons &&
         memory.means.size() <= kMostMeans && std::ranges::all_of(memory.means, is_mean);
}

void RunHistory::remember(Memory memory) {
  memory_ = std::move(memory);
  by_age_.clear();
  for (const auto& [kind, mean] : memory_.means) by_age_.emplace(mean.latest, kind);
}

}  // namespace berth
