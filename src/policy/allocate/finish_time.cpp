// Gavel's finish-time fairness: the job that ends latest, beside alone on its part of the cluster,
// ends as early as can be.
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "core/base/wide.hpp"
#include "core/members.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/memory.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelFinishTimePerf{
    .title = "Gavel's finish-time fairness by speed: the worst slowdown beside an own part, least.",
    .rule =
        "With n jobs on N GPUs, alone means that a job on g GPUs has each type for GPUs of the "
        "type / (n g) of the time, at most N GPUs' worth. The slowdown of a job under a plan is "
        "(age + work left / speed under the plan) / (time that it would have taken alone so far + "
        "work left / speed alone). The plan makes the largest slowdown as small as can be; of "
        "several such plans it is the one in the middle. Rounds as in `gavel/max-min-perf`.",
    .reads =
        "Estimate, speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run "
        "time, arrivals.",
    .source =
        "Themis' finish-time fairness (Mahajan et al., NSDI 2020) as Gavel (Narayanan et al., OSDI "
        "2020) computes it: `finish_time_fairness_perf` of its artefact.",
    .differs =
        "Of several best plans the artefact takes what its solver finds. A job without an "
        "estimate, or past it, is taken to be half done.",
    .cost =
        "A convex program of jobs x types columns per plan, solved beside the engine; else as "
        "`gavel/isolated`.",
    .proof =
        "The artefact's run of its own trace of 96 jobs; plans that are best are many, so only "
        "near it (doc/results/rounds.md, test/paper/gavel_test.cpp).",
    .needs = {.preemption = true, .estimates = true},
    .keys = kGavelKeys};

constexpr About kGavelFinishTime = like(
    kGavelFinishTimePerf,
    {.title =
         "Gavel's finish-time fairness: the worst slowdown beside an own part, all types alike.",
     .rule = "As `gavel/finish-time-fairness-perf`, but jobs are taken to be as fast on all types, "
             "and a round fills the types in a drawn order.",
     .reads = "Estimate, GPUs asked for, GPUs per type, run time, arrivals, random order of types.",
     .source =
         "Themis' finish-time fairness (Mahajan et al., NSDI 2020) as Gavel (Narayanan et al., "
         "OSDI 2020) computes it: `finish_time_fairness` of its artefact."});

namespace {

constexpr Duration kLongest = Duration(10 * kYear);  ///< So that products fit.

/// What a job would have had alone, as of the latest plan.
struct Alone {
  Duration so_far{0};      ///< The time that its work until then would have taken.
  Duration left{0};        ///< The work left then.
  std::int64_t speed = 1;  ///< Alone from then on, in millionths.
};
inline auto members(Alone& v) { return std::tie(v.so_far, v.left, v.speed); }

/// Of so much work at a speed in millionths.
Duration time_for(Duration work, std::int64_t speed) {
  const Wide time = Wide{micros(std::max(work, Duration::zero()))} * Rate::kWhole / speed;
  return Duration(static_cast<std::int64_t>(std::min<Wide>(time, micros(kLongest))));
}

class FinishTime final : public Allocator {
 public:
  explicit FinishTime(Speed speed) : speed_(speed) {}

  Proposal propose(const ClusterView& view, std::span<const JobId> jobs,
                   const TimePlan& plan) override {
    const Options options(view, jobs, speed_);
    Proposal proposal{.options = options.plain(), .shares = {}};
    if (options.columns() == 0) return proposal;
    LeastSlowdown program{.columns = options.columns(), .rows = options.rows()};
    std::map<JobId, Alone> alone;
    for (std::size_t job = 0; job < options.jobs(); ++job) {
      if (options.of(job).empty()) continue;
      const JobView known = view.job(jobs[job]);
      Alone& its = alone[jobs[job]] = go_on(known, plan);
      its.speed = speed_alone(options, job);
      const Duration whole = its.so_far + time_for(its.left, its.speed);
      Floor floor{.terms = {},
                  .work = micros(its.left),
                  .scale = micros(whole),
                  .before = micros(view.now() - known.submitted())};
      for (const Rated& rated : options.of(job)) {
        floor.terms.push_back({options.column(rated), rated.speed.ppm()});
      }
      program.floors.push_back(std::move(floor));
    }
    alone_ = std::move(alone);
    proposal.question = Question{std::move(program)};
    return proposal;
  }

  Snapshot save() const override { return saved(alone_); }
  Expected<void> restore(const Snapshot& bytes) override {
    return restore_into(alone_, bytes, "finish-time fairness", [](const auto& alone) {
      return std::ranges::all_of(alone, [](const auto& entry) {
        const auto& [so_far, left, speed] = entry.second;
        const auto is_time = [](Duration time) {
          return time >= Duration::zero() && time <= kLongest;
        };
        return is_time(so_far) && is_time(left) && speed > 0;
      });
    });
  }

 private:
  /// What it did since the latest plan would have taken so long alone.
  Alone go_on(const JobView& job, const TimePlan& plan) const {
    const Duration left = std::min(work_left(job, plan), kLongest);
    const auto found = alone_.find(job.id());
    if (found == alone_.end()) return {.so_far = Duration::zero(), .left = left};
    const Alone& before = found->second;
    const Duration more = time_for(before.left - left, before.speed);
    return {.so_far = std::min(before.so_far + more, kLongest), .left = left};
  }

  static std::int64_t speed_alone(const Options& options, std::size_t job) {
    const std::int64_t asked = static_cast<std::int64_t>(options.jobs()) * options.gpus_asked(job);
    const Wide even = options.even_speed(job);
    const Wide part = even * options.gpus() / std::max(options.gpus(), asked);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(part));
  }

  Speed speed_;
  std::map<JobId, Alone> alone_;
};

}  // namespace

std::unique_ptr<Policy> gavel_finish_time(const Keys& keys, std::unique_ptr<Placer> placer,
                                          const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Drawn, TimePlan::Unowed::Last);
  return in_rounds("gavel/finish-time-fairness", rules, std::move(placer),
                   std::make_unique<FinishTime>(Speed::Alike));
}

std::unique_ptr<Policy> gavel_finish_time_perf(const Keys& keys, std::unique_ptr<Placer> placer,
                                               const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Last);
  return in_rounds("gavel/finish-time-fairness-perf", rules, std::move(placer),
                   std::make_unique<FinishTime>(Speed::Measured));
}

}  // namespace berth
