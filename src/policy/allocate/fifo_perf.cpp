// Gavel's FIFO by speed: jobs in order of arrival have the types on which they are fastest.
#include <algorithm>
#include <memory>
#include <utility>

#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/allocate/pairs.hpp"
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

constexpr About kGavelFifoPacked = like(
    kGavelFifoPerf,
    {.title = "Gavel's FIFO with pairs: where no GPU is free the next jobs share those of others.",
     .rule =
         "As `gavel/fifo-perf`, but the first job that no type has enough for, and those behind "
         "it, one after the other, share the GPUs of that job which has some, alone and as many as "
         "it asks for, with which the sum of both jobs' speeds, each beside the other over alone, "
         "is largest, if that is above 1.5; at the first job that finds none the plan is done.",
     .reads = "Speed on each type of GPU and beside each model (`--speeds`), GPUs asked for, GPU "
              "memory, "
              "GPUs per type, run time, arrivals.",
     .source = "Gavel (Narayanan et al., OSDI 2020): `fifo_packed` of its artefact.",
     .differs =
         "Rounds of the artefact consist of whole steps. It takes types by their names where they "
         "are as fast. At most 128 jobs share GPUs of others. A job that is to have its GPUs alone "
         "or states no memory shares none, nor "
         "do two whose speeds beside each other were not measured.",
     .cost = "O(jobs x types + placed jobs x jobs that share) per plan; else as `gavel/isolated`.",
     .proof = "The means that the artefact prints, at seven rates of arrival: within 1.1 % "
              "(doc/results/rounds.md)."});

namespace {

class FifoPerf final : public Allocator {
 public:
  explicit FifoPerf(Options::Packing packing) : packing_(packing) {}

  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, Speed::Measured);
    Proposal proposal{.options = options.plain(), .shares = {}};
    proposal.shares.resize(options.columns());
    std::vector<const Rated*> placed;
    std::vector<std::int64_t> free;
    for (std::uint8_t type = 0; type < view.cluster().type_names().size(); ++type) {
      free.push_back(options.gpus_of(type));
    }
    std::size_t job = 0;
    for (; job < options.jobs(); ++job) {
      const Rated* fastest = nullptr;
      for (const Rated& rated : options.of(job)) {
        if (free[rated.option.type] < options.gpus_asked(job)) continue;
        if (fastest == nullptr || rated.speed >= fastest->speed) fastest = &rated;
      }
      if (fastest == nullptr && options.of(job).empty()) continue;  // it needs none of them
      if (fastest == nullptr) break;
      free[fastest->option.type] -= options.gpus_asked(job);
      proposal.shares[options.column(*fastest)] = {.part = 1, .of = 1};
      placed.push_back(fastest);
    }
    if (packing_ == Options::Packing::Alone) return proposal;
    Pairs pairs(view, jobs);
    const std::size_t end = std::min(options.jobs(), job + Options::kMostPaired);
    for (; job < end; ++job) {
      if (options.of(job).empty()) continue;
      const auto host = best_beside(pairs, job, placed);
      if (host == placed.end()) break;
      proposal.shares[options.column(**host)] = {};
      proposal.options.push_back(
          {.jobs = pairs.both(job, (*host)->job), .type = (*host)->option.type});
      proposal.shares.push_back({.part = 1, .of = 1});
      placed.erase(host);
    }
    return proposal;
  }

 private:
  /// The first of those with which the sum of relative speeds is largest and worth it.
  static std::vector<const Rated*>::const_iterator best_beside(
      Pairs& pairs, std::size_t job, const std::vector<const Rated*>& placed) {
    std::int64_t most = Rate::kWhole * 3 / 2;
    auto best = placed.end();
    for (auto host = placed.begin(); host != placed.end(); ++host) {
      const std::int64_t gain = pairs.gain(job, (*host)->job, (*host)->option.type);
      if (gain <= most) continue;
      most = gain;
      best = host;
    }
    return best;
  }

  Options::Packing packing_;
};

}  // namespace

std::unique_ptr<Policy> gavel_fifo_perf(const Keys& keys, std::unique_ptr<Placer> placer,
                                        const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Never);
  return in_rounds("gavel/fifo-perf", rules, std::move(placer),
                   std::make_unique<FifoPerf>(Options::Packing::Alone));
}

std::unique_ptr<Policy> gavel_fifo_packed(const Keys& keys, std::unique_ptr<Placer> placer,
                                          const Knobs&) {
  const RoundRules rules = gavel_sharing_rules(keys, TimePlan::Unowed::Never);
  return in_rounds("gavel/fifo-packed", rules, std::move(placer),
                   std::make_unique<FifoPerf>(Options::Packing::Pairs));
}

}  // namespace berth
