// Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.
#include <algorithm>
#include <memory>
#include <utility>

#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/policies.hpp"

namespace berth {

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
class Isolated final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, Speed::Alike);
    Proposal proposal{.options = options.plain(), .shares = {}};
    for (const Rated& rated : options.all()) {
      const std::int64_t asked = std::ssize(jobs) * options.gpus_asked(rated.job);
      proposal.shares.push_back(
          {.part = options.gpus_of(rated.option.type), .of = std::max(options.gpus(), asked)});
    }
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Policy> gavel_isolated(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Drawn, TimePlan::Unowed::Never);
  return in_rounds("gavel/isolated", rules, std::move(placer), std::make_unique<Isolated>());
}

}  // namespace berth
