// Optimus' greedy rule: each GPU goes where it shortens the remaining time of its job most.
#include <cstdint>
#include <memory>
#include <utility>

#include "policy/policies.hpp"
#include "policy/whole/sized.hpp"

namespace berth {

constexpr About kOptimus{
    .title = "Optimus: each GPU goes to the job whose remaining time it shortens most.",
    .rule =
        "At every arrival and end all numbers of GPUs are set again. First jobs get their least "
        "number in order of arrival, any that fits. Then one GPU at a time goes to the job with "
        "the largest (remaining time with what it has - remaining time with one more), of equal "
        "ones to the first that arrived. Places as in `afs`.",
    .reads =
        "Estimates, speed by the number of GPUs (`--speeds`), range of GPUs, run time, arrivals, "
        "whether a job saves its own state.",
    .source =
        "Optimus (Peng et al., EuroSys 2018), as the simulator of AFS' author has it: workers "
        "only.",
    .differs =
        "The paper sets numbers of workers and of parameter servers every ten minutes, by speeds "
        "that it fits; here GPUs alone, at each arrival and end, by a table. Otherwise as `afs`.",
    .cost = "O(GPUs x jobs) at each arrival and end; O(jobs (log jobs + a placement)) per event.",
    .proof =
        "The simulator of AFS' author on 400 made-up jobs: the rule gives each of its numbers of "
        "GPUs, at the same second, and in our simulator the mean completion time is within 0.02 % "
        "(test/paper/afs_test.cpp). In the rounds and with the places of Pollux' artifact the rule "
        "gives the completion time of each of its 1,920 jobs under Optimus "
        "(test/paper/pollux_test.cpp, doc/results/rounds.md).",
    .needs = {.preemption = true, .estimates = true}};

namespace {

Duration gain(const SizedJob& job) { return job.time(job.gpus) - job.time(job.gpus + 1); }

}  // namespace

void optimus_sizes(std::span<SizedJob> jobs, std::int64_t gpus) {
  for (SizedJob& job : jobs) give(job, gpus);  // with nothing the remaining time is infinite
  while (gpus > 0) {
    SizedJob* best = nullptr;
    for (SizedJob& job : jobs) {
      if (!job.can_grow() || gain(job) <= Duration::zero()) continue;
      if (best == nullptr || gain(job) > gain(*best)) best = &job;
    }
    if (best == nullptr) return;
    give(*best, gpus);
  }
}

std::unique_ptr<Policy> optimus(const Keys&, std::unique_ptr<Placer> placer, const Knobs&) {
  return sized("optimus", optimus_sizes, std::move(placer));
}

}  // namespace berth
