#include "core/run_estimate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
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

namespace {

/// Nothing where no run is known.
std::optional<Estimated> told(const JobSpec& job, std::span<const Duration> runs) {
  if (runs.empty()) return std::nullopt;
  return Estimated{.estimate = std::max(Duration(1), std::min(median_of(runs), job.time_limit)),
                   .learned_from = static_cast<std::int32_t>(runs.size())};
}

using Program = std::pair<UserId, Fingerprint>;

/// The programs of the latest runs of which there was no run before.
std::set<Program> newly_known(std::span<const Ended> ended, std::size_t news) {
  std::set<Program> programs;
  for (const Ended& latest : ended.last(news)) {
    if (latest.what != Fingerprint(0) && ended_by_itself(latest)) {
      programs.emplace(latest.user, latest.what);
    }
  }
  for (const Ended& before : ended.first(ended.size() - news)) {
    if (programs.empty()) break;
    if (ended_by_itself(before)) programs.erase({before.user, before.what});
  }
  return programs;
}

}  // namespace

Duration median_of(std::span<const Duration> runs) { return runs[(runs.size() - 1) / 2]; }

void learn_estimate(JobSpec& job, Fingerprint what, std::span<const Ended> ended) {
  if (job.estimate != kForever) return;
  const auto estimated = told(job, runs_like(job, what, ended));
  if (!estimated) return;
  job.estimate = estimated->estimate;
  job.learned_from = estimated->learned_from;
}

bool may_be_estimated(const Job& job) {
  const bool is_stated = job.spec.estimate != kForever && job.spec.learned_from == 0;
  return job.first_start == kNever && !is_stated;
}

std::vector<Estimated> late_estimates(const ClusterView& view, std::span<const Ended> ended,
                                      std::size_t news,
                                      const std::function<Fingerprint(JobId)>& what) {
  news = std::min(news, ended.size());
  const std::set<Program> programs = newly_known(ended, news);
  const bool any_before = std::ranges::any_of(ended.first(ended.size() - news), ended_by_itself);
  const bool are_first = !any_before && std::ranges::any_of(ended.last(news), ended_by_itself);
  std::vector<Estimated> list;
  if (programs.empty() && !are_first) return list;
  // Jobs of one kind learn from the same runs.
  using Kind = std::tuple<Program, GpuCount, DurationClass>;
  std::map<Kind, std::vector<Duration>> known;
  view.for_each_job([&](const Job& job) {
    if (!may_be_estimated(job)) return;
    const JobSpec& spec = job.spec;
    const Program program{spec.user, what(job.id)};
    if (!are_first && !programs.contains(program)) return;
    const Kind kind{program, spec.request.gpu.count, spec.duration_class};
    auto runs = known.find(kind);
    if (runs == known.end()) {
      runs = known.emplace(kind, runs_like(spec, program.second, ended)).first;
    }
    auto estimated = told(spec, runs->second);
    if (!estimated) return;
    estimated->job = job.id;
    list.push_back(*estimated);
  });
  return list;
}

}  // namespace berth
