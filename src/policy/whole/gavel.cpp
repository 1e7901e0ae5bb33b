// Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "policy/policies.hpp"
#include "policy/whole/rounds.hpp"

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
     .what = "A plan is used for at least this long, even if jobs come or go."},
});

constexpr About kGavelIsolated{
    .title =
        "Gavel's isolated: every job gets an equal part of the time on each type of GPU; rounds.",
    .rule =
        "With m jobs on N GPUs, a job of g GPUs is owed c / max(N, m g) of the time on a type with "
        "c GPUs. The shares are computed again when jobs have come or gone, but only after "
        "`plan_lasts` or when no planned job is left. A round lasts `round`, or until the last of "
        "its jobs ends. In each round types are filled one after the other, in a drawn order; on a "
        "type rank = ((time received since the plan + half a round) / time owed; time owed before "
        "the plan and not received, most first; GPUs; arrival), and any job that fits runs, on one "
        "type only. A job keeps its GPUs in the next round if it can. GPUs of a job that ends stay "
        "idle until the round ends. Jobs without GPUs run in every round.",
    .reads = "Run time, GPUs asked for, request, GPUs per type, arrivals, random order of types.",
    .source =
        "Gavel (Narayanan et al., OSDI 2020): the baseline `isolated` of its artefact, and its "
        "rounds.",
    .differs =
        "Rounds of the artefact consist of whole steps, and it ignores a plan made at time 0. A "
        "job may not span types, so a job that fits no type is rejected.",
    .cost = "O(GPUs + types x jobs (log jobs + a placement)) per round, O(running) per event.",
    .proof =
        "A run of the authors' artefact on its own trace of 96 jobs, not a figure of the paper: "
        "the mean of 20 seeds is within 1 % for mean completion time, makespan and use of GPUs "
        "(doc/results/gavel.md, test/paper/gavel_test.cpp).",
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
