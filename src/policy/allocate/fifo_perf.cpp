// Gavel's FIFO by speed: jobs in order of arrival have the types on which they are fastest.
#include <memory>
#include <utility>

#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelFifoPerf{
    .title = "Gavel's FIFO by speed: in order of arrival, each on the fastest type that is free.",
    .rule =
        "A plan goes through the jobs in order of arrival. Each gets all the time on GPUs of the "
        "type on which it is fastest among those with enough that no job before it has, of types "
        "that are as fast the last that the cluster lists; at the first job that no type has "
        "enough for, the plan is done. Plans and rounds as in `gavel/max-min-perf`, but GPUs that "
        "nobody is owed stay idle.",
    .reads =
        "Speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run time, "
        "arrivals.",
    .source = "Gavel (Narayanan et al., OSDI 2020): `fifo_perf` of its artefact.",
    .differs =
        "Rounds of the artefact consist of whole steps. It takes types by their names where they "
        "are as fast.",
    .cost = "O(jobs x types) per plan; else as `gavel/isolated`.",
    .proof =
        "The artefact's completion times of 5,000 jobs, and its run of its own trace of 96 jobs "
        "(doc/results/rounds.md, test/paper/gavel_test.cpp).",
    .needs = {.preemption = true},
    .keys = kGavelKeys};

namespace {

class FifoPerf final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, Speed::Measured);
    Proposal proposal{.options = options.plain(), .shares = {}};
    proposal.shares.resize(options.columns());
    std::vector<std::int64_t> free;
    for (std::uint8_t type = 0; type < view.cluster().type_names().size(); ++type) {
      free.push_back(options.gpus_of(type));
    }
    for (std::size_t job = 0; job < options.jobs(); ++job) {
      const Rated* fastest = nullptr;
      for (const Rated& rated : options.of(job)) {
        if (free[rated.option.type] < options.gpus_asked(job)) continue;
        if (fastest == nullptr || rated.speed >= fastest->speed) fastest = &rated;
      }
      if (fastest == nullptr && options.of(job).empty()) continue;  // it needs none of them
      if (fastest == nullptr) break;
      free[fastest->option.type] -= options.gpus_asked(job);
      proposal.shares[options.column(*fastest)] = {.part = 1, .of = 1};
    }
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Policy> gavel_fifo_perf(const Keys& keys, std::unique_ptr<Placer> placer,
                                        const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Never);
  return in_rounds("gavel/fifo-perf", rules, std::move(placer), std::make_unique<FifoPerf>());
}

}  // namespace berth
