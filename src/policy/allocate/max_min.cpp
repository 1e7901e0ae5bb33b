// Gavel's max-min fairness: the job that gets least, beside an even part of all GPUs, gets most.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "core/base/wide.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelMaxMinPerf{
    .title = "Gavel's max-min fairness by speed: no job gets more at the cost of one with less.",
    .rule =
        "A plan gives a job on g GPUs the part x of the time on each type. What it gets is g times "
        "its speed under the plan, over its speed with even parts (each type as often as it has "
        "GPUs). The plan makes the least of these as large as can be; a job runs at most all the "
        "time, and types have as many GPUs as they have. Of several best plans it is the one in "
        "the middle (their analytic centre). Plans change and rounds give GPUs as in "
        "`gavel/isolated`, but types come as the cluster lists them, and GPUs that nobody is owed "
        "go to jobs that are owed none of that type.",
    .reads =
        "Speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run time, "
        "arrivals.",
    .source = "Gavel (Narayanan et al., OSDI 2020): `max_min_fairness_perf` of its artefact.",
    .differs =
        "Of several best plans the artefact takes what its solver finds: near the middle, where "
        "that is an interior-point code. Weights of jobs are not read.",
    .cost =
        "A linear program of jobs x types columns per plan, solved beside the engine; else as "
        "`gavel/isolated`.",
    .proof =
        "The artefact's run of its own trace of 96 jobs, and its printed means of 1,000 jobs at "
        "several rates of arrival (doc/results/rounds.md, test/paper/gavel_test.cpp).",
    .needs = {.preemption = true},
    .keys = kGavelKeys};

constexpr About kGavelMaxMin = like(
    kGavelMaxMinPerf,
    {.title = "Gavel's max-min fairness: every job gets as much time on GPUs, of whichever type.",
     .rule = "As `gavel/max-min-perf`, but jobs are taken to be as fast on all types, and a round "
             "fills the types in a drawn order.",
     .reads = "GPUs asked for, GPUs per type, run time, arrivals, random order of types.",
     .source = "Gavel (Narayanan et al., OSDI 2020): `max_min_fairness` of its artefact."});

constexpr About kMaxMin = like(
    kGavelMaxMinPerf,
    {.title = "Max-min fairness over types of GPU: no job gets more at the cost of one with less.",
     .rule =
         "Plans as `gavel/max-min-perf` makes them, a new one at the end of a round if jobs came "
         "or went. GPUs that nobody is owed go to whom they fit, new jobs among them.",
     .differs =
         "Gavel plans at most every 32 minutes, and a new job waits for that though GPUs are idle. "
         "Of several best plans this is the one in the middle. Weights of jobs are not read.",
     .proof = "None of its own: its plans are those of `gavel/max-min-perf`.",
     .keys = std::span(kGavelKeys).first<1>()});

constexpr About kGavelMaxMinPacked = like(
    kGavelMaxMinPerf,
    {.title = "Gavel's max-min fairness with pairs: jobs may share GPUs where that is worth it.",
     .rule =
         "As `gavel/max-min-perf`, but any two jobs that ask for as many GPUs are also given a "
         "part of the time together, each at its speed beside the other. In a round both have the "
         "same GPUs or the pair has none; where memory does not admit both there, each is tried "
         "by itself.",
     .reads = "Speed on each type of GPU and beside each model (`--speeds`), GPUs asked for, GPU "
              "memory, "
              "GPUs per type, run time, arrivals.",
     .source = "Gavel (Narayanan et al., OSDI 2020): `max_min_fairness_packed` of its artefact.",
     .differs =
         "Pairs are made of the first 128 jobs; a job after those gets its time alone. So does a "
         "job that is to have its GPUs alone or states no memory, and two whose speeds beside each "
         "other were not measured. Of several best plans the artefact takes what its solver finds.",
     .cost =
         "A linear program of (jobs + pairs) x types columns per plan, solved beside the engine, "
         "and as many claims sorted per round.",
     .proof = "A golden; not yet compared with the means that the artefact prints."});

namespace {

class MaxMin final : public Allocator {
 public:
  explicit MaxMin(Speed speed, Options::Packing packing = Options::Packing::Alone)
      : speed_(speed), packing_(packing) {}

  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, speed_, packing_);
    Proposal proposal{.options = options.plain(), .shares = {}};
    if (options.columns() == 0) return proposal;
    const std::uint32_t least = options.columns();
    LinearProgram program{
        .columns = least + 1, .rows = options.rows(), .gain = {{least, Rate::kWhole}}};
    std::vector<Row> gets(options.jobs(), Row{.terms = {{least, Rate::kWhole}}, .most = 0});
    for (const Rated& rated : options.all()) {
      gets[rated.job].terms.push_back(
          {options.column(rated), -worth_of(options, rated.job, rated.speed)});
    }
    for (const RatedTogether& rated : options.together()) {
      for (std::size_t i = 0; i < rated.jobs.size(); ++i) {
        gets[rated.jobs[i]].terms.push_back(
            {options.column(rated), -worth_of(options, rated.jobs[i], rated.speeds[i])});
      }
    }
    for (std::size_t job = 0; job < options.jobs(); ++job) {
      if (!options.of(job).empty()) program.rows.push_back(std::move(gets[job]));
    }
    proposal.question = Question{std::move(program)};
    return proposal;
  }

 private:
  /// Of all the time at this speed to this job, in millionths.
  static std::int64_t worth_of(const Options& options, std::size_t job, Rate speed) {
    const std::int64_t even = std::max<std::int64_t>(1, options.even_speed(job));
    const Wide gpus = options.gpus_asked(job);
    return static_cast<std::int64_t>(gpus * speed.ppm() * Rate::kWhole / even);
  }

  Speed speed_;
  Options::Packing packing_;
};

}  // namespace

std::unique_ptr<Policy> max_min(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  const RoundRules rules{.round = keys.time("round"),
                         .plan_lasts = Duration::zero(),
                         .types = RoundRules::Types::Listed,
                         .unowed = TimePlan::Unowed::Last,
                         .newcomers = RoundRules::Newcomers::AreUnowed};
  return in_rounds("max-min", rules, std::move(placer), std::make_unique<MaxMin>(Speed::Measured));
}

std::unique_ptr<Policy> gavel_max_min(const Keys& keys, std::unique_ptr<Placer> placer,
                                      const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Drawn, TimePlan::Unowed::Last);
  return in_rounds("gavel/max-min", rules, std::move(placer),
                   std::make_unique<MaxMin>(Speed::Alike));
}

std::unique_ptr<Policy> gavel_max_min_perf(const Keys& keys, std::unique_ptr<Placer> placer,
                                           const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Last);
  return in_rounds("gavel/max-min-perf", rules, std::move(placer),
                   std::make_unique<MaxMin>(Speed::Measured));
}

std::unique_ptr<Policy> gavel_max_min_packed(const Keys& keys, std::unique_ptr<Placer> placer,
                                             const Knobs&) {
  const RoundRules rules = gavel_sharing_rules(keys, TimePlan::Unowed::Last);
  return in_rounds("gavel/max-min-packed", rules, std::move(placer),
                   std::make_unique<MaxMin>(Speed::Measured, Options::Packing::Pairs));
}

}  // namespace berth
