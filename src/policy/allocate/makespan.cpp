// Gavel's least makespan: what is there is done as soon as can be.
#include <memory>
#include <utility>

#include "core/base/wide.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelMakespan{
    .title = "Gavel's least makespan: the jobs that are there are all done as soon as can be.",
    .rule =
        "A plan gives every job a speed in proportion to the work that it has left, as high as the "
        "cluster allows; of several such plans the one in the middle. Rounds as in "
        "`gavel/max-min-perf`.",
    .reads =
        "Estimate, speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run "
        "time, arrivals.",
    .source = "Gavel (Narayanan et al., OSDI 2020): `min_total_duration_perf` of its artefact.",
    .differs =
        "The artefact searches the makespan by halves until it is within 5 %; this is the least. A "
        "job without an estimate, or past it, is taken to be half done.",
    .cost =
        "A linear program of jobs x types columns per plan, solved beside the engine; else as "
        "`gavel/isolated`.",
    .proof =
        "The artefact's run of its own trace of 96 jobs (doc/results/rounds.md, "
        "test/paper/gavel_test.cpp).",
    .needs = {.preemption = true, .estimates = true},
    .keys = kGavelKeys};

namespace {

class Makespan final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs,
                   const TimePlan& plan) override {
    const Options options(view, jobs, Speed::Measured);
    Proposal proposal{.options = options.plain(), .shares = {}};
    if (options.columns() == 0) return proposal;
    Duration longest{1};
    for (const JobId job : jobs) longest = std::max(longest, work_left(view.job(job), plan));
    const std::uint32_t pace = options.columns();  // of the job with most left
    LinearProgram program{
        .columns = pace + 1, .rows = options.rows(), .gain = {{pace, Rate::kWhole}}};
    for (std::size_t job = 0; job < options.jobs(); ++job) {
      if (options.of(job).empty()) continue;
      const Wide left = micros(work_left(view.job(jobs[job]), plan));
      const Wide part = left * Rate::kWhole / micros(longest);
      Row keeps_pace{.terms = {{pace, std::max<std::int64_t>(1, static_cast<std::int64_t>(part))}},
                     .most = 0};
      for (const Rated& rated : options.of(job)) {
        keeps_pace.terms.push_back({options.column(rated), -rated.speed.ppm()});
      }
      program.rows.push_back(std::move(keeps_pace));
    }
    proposal.question = Question{std::move(program)};
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Policy> gavel_makespan(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Last);
  return in_rounds("gavel/makespan", rules, std::move(placer), std::make_unique<Makespan>());
}

}  // namespace berth
