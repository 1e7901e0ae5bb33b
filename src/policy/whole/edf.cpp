// Earliest deadline first with elastic sizes: the most urgent job has as many GPUs as help it.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "policy/policies.hpp"
#include "policy/whole/deadline_plan.hpp"

namespace berth {

constexpr auto kEdfKeys = std::to_array<Key>({kApartKey});

constexpr About kEdf{
    .title = "EDF: the job with the earliest deadline has as many GPUs as make it faster.",
    .rule =
        "At every arrival and end all numbers of GPUs are set again. In the order of deadlines, "
        "jobs without one last, and of arrival among equals, each job has the largest of its "
        "levels that is free: its least number of GPUs, twice as many and so on, and the most that "
        "make it faster. Each ends as soon as it can beside those before it. Places as in `afs`.",
    .reads =
        "Deadlines, range of GPUs, speed by the number of GPUs (`--speeds`), arrivals, whether a "
        "job saves its own state.",
    .source = "The EDF that ElasticFlow (Gu et al., ASPLOS 2023) compares with, artifact 9194b14.",
    .differs =
        "The artifact sets numbers again four minutes after the last time at the earliest "
        "(`apart=4m`), and up to the largest number that was measured, even if fewer are faster. A "
        "job that misses its deadline goes on, there too. A job that does not save itself keeps "
        "the number that it runs with.",
    .cost = "O(jobs log jobs) at each arrival and end; else as `afs`.",
    .proof =
        "ElasticFlow's artifact on 100 jobs (figure 10): the rule, with its plans as timetable, "
        "gives each of its 195 passes and the start and end of every job, to the second "
        "(doc/results/rounds.md, test/paper/elasticflow_test.cpp).",
    .needs = {.preemption = true},
    .keys = kEdfKeys};

void edf_sizes(std::span<SizedJob> jobs, std::int64_t gpus) {
  std::vector<SizedJob*> in_order;
  for (SizedJob& job : jobs) in_order.push_back(&job);
  std::ranges::stable_sort(in_order, {}, &SizedJob::deadline);
  for (SizedJob* const job : in_order) {
    job->gpus = level_within(*job, gpus);
    gpus -= job->gpus;
  }
}

std::unique_ptr<Policy> edf(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  const auto plan = [](std::span<SizedJob> jobs, std::int64_t gpus, Instant, Rng) {
    edf_sizes(jobs, gpus);
    return kNever;
  };
  return sized_by_plan("edf", plan, keys.time("apart"), std::move(placer));
}

}  // namespace berth
