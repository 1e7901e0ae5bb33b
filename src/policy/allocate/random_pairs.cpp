// Gavel's Gandiva: where jobs ask for more GPUs than there are, drawn pairs of them share GPUs.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/allocate/pairs.hpp"
#include "policy/allocate/python_random.hpp"
#include "policy/kit/memory.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelGandiva{
    .title = "Gavel's Gandiva: where GPUs are scarce, pairs of jobs are drawn that share them.",
    .rule =
        "If the jobs ask for more GPUs than there are, a plan draws two jobs that are in no pair, "
        "as often as there are such jobs; the two become a pair if they ask for as many GPUs. A "
        "pair stays until one of the jobs ends, or the sum over all types of both jobs' speeds, "
        "each beside the other over alone, is below 1 or has a part that is unknown. Each of m "
        "pairs and jobs alone of g GPUs is owed c / max(N, m g) of the time on a type with c of N "
        "GPUs. If there are enough GPUs each job is owed that alone. Rounds as in "
        "`gavel/max-min-perf`.",
    .reads =
        "Speed on each type of GPU and beside each model (`--speeds`), GPUs asked for, GPU memory, "
        "GPUs per type, run time, arrivals, random pairs.",
    .source =
        "Gandiva (Xiao et al., OSDI 2018) as Gavel (Narayanan et al., OSDI 2020) has it: `gandiva` "
        "of its artefact.",
    .differs =
        "Gandiva itself tries how fast jobs are together, migrates and grows jobs. Rounds of the "
        "artefact consist of whole steps. A pair is not made of jobs that cannot share a GPU: one "
        "is to have its GPUs alone or states no memory; none is without a table of pairs. Two "
        "whose "
        "speeds are unknown wait for the next plan, as there. The draws are the artefact's, "
        "whatever "
        "`--seed` says.",
    .cost = "O(jobs x types) per plan, O(jobs^2) where jobs are drawn; else as `gavel/isolated`.",
    .proof =
        "Its pairs give every placement and every completion time of two runs of the artefact, to "
        "the last bit, in a loop like its own (test/paper/gandiva_pairs_test.cpp).",
    .needs = {.preemption = true},
    .keys = kGavelKeys};

namespace {

struct PairsMemory {
  PythonRandom random{0};
  std::set<Combination> pairs;
};
inline auto members(PairsMemory& v) { return std::tie(v.random, v.pairs); }

bool is_sane(const PairsMemory& memory) {
  return memory.random.is_sane() && std::ranges::all_of(memory.pairs, [](const Combination& pair) {
           return pair.size() == 2 && pair[0] < pair[1];
         });
}

class RandomPairs final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, Speed::Alike);
    Proposal proposal{.options = options.plain(), .shares = {}};
    proposal.shares.resize(options.columns());
    Takers takers;
    std::int64_t asked = 0;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (options.of(job).empty()) continue;
      takers[jobs[job]] = job;
      asked += options.gpus_asked(job);
    }
    Pairs pairs(view, jobs);
    drop_pairs(pairs, takers);
    std::set<Combination> chosen;
    if (asked > options.gpus() && view.speeds().has_pairs()) {
      draw_pairs(pairs, takers);
      chosen = memory_.pairs;
    }
    const std::set<JobId> paired = jobs_of(chosen);
    for (const auto& [job, at] : takers) {
      if (!paired.contains(job)) chosen.insert({job});
    }
    for (const Combination& unit : chosen) {
      const std::size_t at = takers.at(unit.front());
      const std::int64_t all = std::ssize(chosen) * options.gpus_asked(at);
      for (const Rated& rated : options.of(at)) {
        const std::uint8_t type = rated.option.type;
        const TimeShare share{.part = options.gpus_of(type), .of = std::max(options.gpus(), all)};
        if (unit.size() == 1) {
          proposal.shares[options.column(rated)] = share;
        } else if (pairs.gain(at, takers.at(unit.back()), type) > 0) {
          proposal.options.push_back({.jobs = unit, .type = type});
          proposal.shares.push_back(share);
        }
      }
    }
    return proposal;
  }

  Snapshot save() const override { return saved(memory_); }
  Expected<void> restore(const Snapshot& bytes) override {
    return restore_into(memory_, bytes, "random pairs",
                        [](const PairsMemory& memory) { return is_sane(memory); });
  }

 private:
  /// By their jobs, the positions of those that take GPUs.
  using Takers = std::map<JobId, std::size_t>;

  void drop_pairs(Pairs& pairs, const Takers& takers) {
    std::erase_if(memory_.pairs, [&](const Combination& pair) {
      const auto one = takers.find(pair.front());
      const auto other = takers.find(pair.back());
      if (one == takers.end() || other == takers.end()) return true;
      return !is_worth_it(pairs, one->second, other->second);
    });
  }
  static bool is_worth_it(Pairs& pairs, std::size_t one, std::size_t other) {
    std::int64_t sum = 0;
    for (std::uint8_t type = 0; type < pairs.types(); ++type) {
      const std::int64_t here = pairs.gain(one, other, type);
      if (here == 0) return false;
      sum += here;
    }
    return sum >= Rate::kWhole;
  }

  /// As the artefact draws: once for each job that is in no pair, while two are left.
  void draw_pairs(const Pairs& pairs, const Takers& takers) {
    const std::set<JobId> paired = jobs_of(memory_.pairs);
    std::vector<JobId> free;
    for (const auto& [job, at] : takers) {
      if (!paired.contains(job)) free.push_back(job);
    }
    for (std::size_t times = free.size(); times > 0 && free.size() >= 2; --times) {
      const auto [one, other] = memory_.random.two_of(static_cast<std::uint32_t>(free.size()));
      if (!pairs.can_share(takers.at(free[one]), takers.at(free[other]))) continue;
      const Combination pair = pairs.both(takers.at(free[one]), takers.at(free[other]));
      for (const JobId id : pair) std::erase(free, id);
      memory_.pairs.insert(pair);
    }
  }
  static std::set<JobId> jobs_of(const std::set<Combination>& units) {
    std::set<JobId> jobs;
    for (const Combination& unit : units) jobs.insert(unit.begin(), unit.end());
    return jobs;
  }

  PairsMemory memory_;
};

}  // namespace

std::unique_ptr<Allocator> random_pairs() { return std::make_unique<RandomPairs>(); }

std::unique_ptr<Policy> gavel_gandiva(const Keys& keys, std::unique_ptr<Placer> placer,
                                      const Knobs&) {
  const RoundRules rules = gavel_sharing_rules(keys, TimePlan::Unowed::Last);
  return in_rounds("gavel/gandiva", rules, std::move(placer), random_pairs());
}

}  // namespace berth
