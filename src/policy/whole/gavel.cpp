// Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "policy/kit/rounds.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kGavelKeys = std::to_array<Key>({
    {.name = "round",
     .type = KeyType::Time,
     .usual = "6m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Length of a round."},
    {.name = "plan_lasts",
     .type = KeyType::Time,
     .usual = "32m",
     .least = 0,
     .most = kYear,
     .what = "A plan holds at least this long, whatever jobs come or go."},
});

constexpr About kGavelIsolated{
    .title =
        "Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.",
    .rule =
        "With m jobs on N GPUs a job of g GPUs is owed c / max(N, m g) of the time on a type of "
        "which there are c. The plan is made again when jobs came or went, after `plan_lasts` at "
        "the earliest or when no job of the plan is left. A round takes `round`, or ends with the "
        "last of its jobs. For each round types are filled one after the other, in an order drawn "
        "for it; on each type rank = (time received since the plan, and half a round, / time owed; "
        "time short before the plan, most first; GPUs; arrival), and any job that fits is in, on "
        "one type. Jobs keep their GPUs from round to round where they can; a job that ends leaves "
        "its GPUs idle until the round ends. Jobs without GPUs are in every round.",
    .reads =
        "Run time, GPUs asked for, request, GPUs per type, arrivals, chance (the order of types).",
    .source =
        "Gavel (Narayanan et al., OSDI 2020): the baseline `isolated` of its artefact, and its "
        "rounds.",
    .differs =
        "Rounds of the artefact hold whole steps only, and a plan from instant 0 counts as none. A "
        "job may not span types, so a job that no type holds is rejected.",
    .cost = "O(GPUs + types x jobs (log jobs + a placement)) per round, O(jobs) per event.",
    .proof =
        "A run of the authors' artefact on its own trace of 96 jobs: mean completion time, "
        "makespan and use of GPUs within 1 % in the mean of 20 seeds (doc/results/gavel.md, "
        "test/paper/gavel_test.cpp). The paper prints no figure of that run.",
    .needs = {.preemption = true},
    .keys = kGavelKeys};

namespace {

/// GPUs of a type over the larger of all GPUs and jobs x GPUs asked for.
std::vector<std::vector<TimeShare>> isolated(const ClusterView& view, std::span<const JobId> jobs) {
  std::vector<std::int64_t> gpus_of_type(view.cluster().type_names().size());
  for (const GpuSpec& gpu : view.cluster().gpus()) ++gpus_of_type[gpu.type];
  std::vector<std::vector<TimeShare>> shares;
  shares.reserve(jobs.size());
  for (const JobId id : jobs) {
    const std::int64_t asked = std::ssize(jobs) * view.job(id).gpus().raw();
    const std::int64_t of = std::max(view.cluster().gpu_count().raw(), asked);
    std::vector<TimeShare>& own = shares.emplace_back();
    for (const std::int64_t gpus : gpus_of_type) own.push_back({.part = gpus, .of = of});
  }
  return shares;
}

}  // namespace

std::unique_ptr<Policy> gavel_isolated(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  const RoundTimes times{.round = keys.time("round"), .plan_lasts = keys.time("plan_lasts")};
  return in_rounds("gavel/isolated", times, std::move(placer), isolated);
}

}  // namespace berth
