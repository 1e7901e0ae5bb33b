// ElasticFlow: the fewest GPUs with which promised deadlines are kept, then more for who can wait.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policy/policies.hpp"
#include "policy/whole/deadline_plan.hpp"

namespace berth {

constexpr auto kElasticFlowKeys =
    std::to_array<Key>({{.name = "slot",
                         .type = KeyType::Time,
                         .usual = "4m",
                         .least = micros(seconds(1)),
                         .most = kYear,
                         .what = "In plans GPUs change hands at multiples of this time from now."},
                        kApartKey});

constexpr About kElasticFlow{
    .title = "ElasticFlow: deadlines are promised if they can be kept; the fewest GPUs for each.",
    .rule =
        "Levels as in `edf`. In the order of deadlines each job with a promise plans the smallest "
        "level that ends it in time beside those before it, as late as that will do, and the level "
        "below before. A new job has the promise if then all of these end in time; else, and "
        "without a deadline, it is served behind them. At every arrival and end, and when a plan "
        "has another number, plans are made again. Of the GPUs that are left now, first each job "
        "behind has its least number, in order of arrival; then one level after the other goes to "
        "the job with a promise and none, else to the one with the largest (GPU time of its plan "
        "with it - GPU time without) / GPUs; then jobs behind have one more in turn. Places as in "
        "`afs`.",
    .reads =
        "Deadlines, estimates, range of GPUs, speed by the number of GPUs (`--speeds`), run time, "
        "arrivals, whether a job saves its own state.",
    .source =
        "ElasticFlow (Gu et al., ASPLOS 2023): `ef-accessctrl` of its artifact, 9194b14, which "
        "made the logs of its figure 10.",
    .differs =
        "The artifact ends a job without a promise; here it is served behind, and new jobs are "
        "judged one by one and not together. The artifact sets numbers again four minutes after "
        "the last time at the earliest (`apart=4m`). Which job grows is as in its code. A job that "
        "does "
        "not save itself keeps the number that it runs with. What a restart costs is not planned "
        "for, so a promise is as good as the estimate and costs allow.",
    .cost =
        "O(new jobs x jobs x levels x instants planned + GPUs left / least x jobs x levels x "
        "instants) when plans are made, where jobs are those with a promise; else as `afs`.",
    .proof =
        "ElasticFlow's artifact on 100 jobs (figure 10), all of which it admits: the rule gives "
        "the GPUs of every job at each of its 186 passes and its start and end, to the second "
        "(doc/results/rounds.md, test/paper/elasticflow_test.cpp).",
    .needs = {.preemption = true, .estimates = true},
    .keys = kElasticFlowKeys};

namespace {

/// What the next level does to the GPU time of a plan. Compared without dividing.
struct Growth {
  enum class Kind : std::uint8_t { None, Some, First } kind = Kind::None;
  Wide more = 0;
  std::int64_t gpus = 1;

  bool operator>(const Growth& other) const {
    if (kind != other.kind || kind != Kind::Some) return kind > other.kind;
    return more * other.gpus > other.more * gpus;
  }
};

struct Growing {
  PlannedJob now;
  Growth growth = {};  ///< With the most that it can use it stays as it was: as in the artifact.
  std::int64_t need = 0;
  DeadlinePlan plan = {};
  std::optional<FreeGpus> free = std::nullopt;  ///< With this plan.

  void look(const FreeGpus& free_now, std::int64_t spare) {
    const std::int64_t has = now.plan.now();
    const std::int64_t next = level_above(*now.job, has);
    need = next - has;
    if (need == 0) return;
    growth = {};
    if (need > spare || now.plan.end == kNever) return;
    free = free_now;
    free->put_back(now.plan);
    plan = free->take_fewest(*now.job, next);
    growth = {.kind = has == 0 ? Growth::Kind::First : Growth::Kind::Some,
              .more = plan.gpu_time() - now.plan.gpu_time(),
              .gpus = need};
  }
  bool can_grow(std::int64_t spare) const {
    return need > 0 && need <= spare && growth.kind != Growth::Kind::None;
  }
};

/// Gives out GPUs that are left now. The order of jobs stays from one to the next.
std::vector<PlannedJob> grow(std::vector<PlannedJob> jobs, FreeGpus& free, std::int64_t spare) {
  std::vector<Growing> order;
  for (PlannedJob& job : jobs) order.push_back({.now = std::move(job)});
  while (spare > 0) {
    for (Growing& one : order) one.look(free, spare);
    std::ranges::stable_sort(order, std::greater(), &Growing::growth);
    const auto best =
        std::ranges::find_if(order, [&](const auto& one) { return one.can_grow(spare); });
    if (best == order.end()) break;
    best->now.plan = std::move(best->plan);
    free = std::move(*best->free);
    spare -= best->need;
  }
  jobs.clear();
  for (Growing& one : order) jobs.push_back(std::move(one.now));
  return jobs;
}

std::vector<SizedJob*> with(std::span<SizedJob> jobs, Promise promise) {
  std::vector<SizedJob*> those;
  for (SizedJob& job : jobs) {
    if (job.promise == promise) those.push_back(&job);
  }
  return those;
}

bool can_keep(std::span<SizedJob* const> jobs, FreeGpus free) {
  return std::ranges::all_of(plan_fewest(jobs, free), [](const PlannedJob& one) {
    return one.plan.end <= one.job->deadline;
  });
}

void promise(std::span<SizedJob> jobs, const FreeGpus& free) {
  std::vector<SizedJob*> kept = with(jobs, Promise::Given);
  for (SizedJob* const job : with(jobs, Promise::Open)) {
    kept.push_back(job);
    job->promise = Promise::Given;
    if (job->deadline != kNever && can_keep(kept, free)) continue;
    job->promise = Promise::Refused;
    kept.pop_back();
  }
}

}  // namespace

std::vector<PlannedJob> plan_fewest(std::span<SizedJob* const> jobs, FreeGpus& free) {
  std::vector<PlannedJob> planned;
  for (SizedJob* const job : jobs) planned.push_back({.job = job});
  std::ranges::stable_sort(planned, {}, [](const PlannedJob& one) { return one.job->deadline; });
  for (PlannedJob& one : planned) one.plan = free.take_fewest(*one.job);
  return planned;
}

std::vector<PlannedJob> elasticflow_plans(std::span<SizedJob> jobs, FreeGpus free) {
  promise(jobs, free);
  const std::vector<SizedJob*> behind = with(jobs, Promise::Refused);
  std::vector<PlannedJob> planned = plan_fewest(with(jobs, Promise::Given), free);
  std::int64_t spare = free.now();
  for (SizedJob* const job : behind) give(*job, spare);
  const std::int64_t given = free.now() - spare;
  planned = grow(std::move(planned), free, spare);
  for (const PlannedJob& one : planned) one.job->gpus = one.plan.now();
  spare = free.now() - given;
  give_in_turn(behind, spare);
  return planned;
}

std::unique_ptr<Policy> elasticflow(const Keys& keys, std::unique_ptr<Placer> placer,
                                    const Knobs&) {
  const auto plan = [slot = keys.time("slot")](std::span<SizedJob> jobs, std::int64_t gpus,
                                               Instant now, Rng) {
    Instant again = kNever;
    for (const PlannedJob& one : elasticflow_plans(jobs, FreeGpus(now, slot, gpus))) {
      const auto next = one.plan.gpus.upper_bound(now);
      if (next != one.plan.gpus.end()) again = std::min(again, next->first);
    }
    return again;
  };
  return sized_by_plan("elasticflow", plan, keys.time("apart"), std::move(placer));
}

}  // namespace berth
