#include "core/run_estimate.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/assert.hpp"

namespace berth {

std::vector<Duration> runs_like(const JobSpec& job, Fingerprint what, const Lessons& lessons,
                                Duration beyond) {
  const std::span<const PastRun> all = lessons.runs.of(job.user, what);
  if (all.size() < lessons.fewest) return {};
  const auto is_as_large = [&](const PastRun& run) { return run.gpus == job.request.gpu.count; };
  const auto as_large = static_cast<std::size_t>(std::ranges::count_if(all, is_as_large));
  std::vector<Duration> runs;
  std::vector<Duration> others;
  for (const PastRun& run : all) {
    const bool counts = as_large < lessons.fewest || is_as_large(run);
    if (run.ran > beyond) (counts ? runs : others).push_back(run.ran);
  }
  if (runs.empty()) runs = std::move(others);
  std::ranges::sort(runs);
  return runs;
}

Duration median_of(std::span<const Duration> runs) {
  BERTH_ASSERT(!runs.empty());
  return runs[(runs.size() - 1) / 2];
}

namespace {

/// Nothing where too few runs are known.
std::optional<Estimated> told(const JobSpec& job, Fingerprint what, const Lessons& lessons) {
  const std::vector<Duration> runs = runs_like(job, what, lessons);
  if (runs.empty()) return std::nullopt;
  return Estimated{.estimate = std::max(Duration(1), std::min(median_of(runs), job.time_limit)),
                   .learned_from = static_cast<std::int32_t>(runs.size())};
}

using Program = std::pair<UserId, Fingerprint>;

/// The programs of the latest jobs of which there were too few runs before.
std::set<Program> newly_known(const Lessons& lessons, std::span<const Ended> latest) {
  std::map<Program, std::size_t> fresh;
  for (const Ended& ended : latest) {
    if (is_whole_run(ended.outcome)) ++fresh[{ended.user, ended.what}];
  }
  std::set<Program> programs;
  for (const auto& [program, count] : fresh) {
    const std::size_t now = lessons.runs.of(program.first, program.second).size();
    if (now >= lessons.fewest && now < lessons.fewest + count) programs.insert(program);
  }
  return programs;
}

}  // namespace

void learn_estimate(JobSpec& job, Fingerprint what, const Lessons& lessons) {
  if (job.estimate != kForever) return;
  const auto estimated = told(job, what, lessons);
  if (!estimated) return;
  job.estimate = estimated->estimate;
  job.learned_from = estimated->learned_from;
}

bool may_be_estimated(const Job& job) {
  const bool is_stated = job.spec.estimate != kForever && job.spec.learned_from == 0;
  return job.first_start == kNever && !is_stated;
}

std::vector<Estimated> late_estimates(const ClusterView& view, const Lessons& lessons,
                                      std::span<const Ended> latest,
                                      const std::function<Fingerprint(JobId)>& what) {
  const std::set<Program> programs = newly_known(lessons, latest);
  std::vector<Estimated> list;
  if (programs.empty()) return list;
  view.for_each_job([&](const Job& job) {
    if (!may_be_estimated(job)) return;
    const Fingerprint program = what(job.id);
    if (!programs.contains({job.spec.user, program})) return;
    auto estimated = told(job.spec, program, lessons);
    if (!estimated) return;
    estimated->job = job.id;
    list.push_back(*estimated);
  });
  return list;
}

}  // namespace berth
