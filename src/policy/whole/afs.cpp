// AFS-L: GPUs go where they shorten the completion times of all most.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/wide.hpp"
#include "policy/policies.hpp"
#include "policy/whole/sized.hpp"

namespace berth {

constexpr About kAfs{
    .title = "AFS-L: numbers of GPUs by remaining time and gain in speed; least mean completion.",
    .rule =
        "At every arrival and end all numbers of GPUs are set again. If not all jobs can have "
        "their least number, they get it in the order of remaining time with it. Else all have it, "
        "and GPUs go out one at a time. The one that gets it wins against one job after the other "
        "in order of arrival. Of two jobs with speeds v(n) on n GPUs let s be the one with the "
        "smaller remaining time on what it has, and l the other; s gets the GPU if "
        "(v_s(n+1) - v_s(n)) / v_s(n) > (v_l(n+1) - v_l(n)) / v_l(n+1), else l. A job whose number "
        "did not change stays where it is; others save themselves and start again, largest first.",
    .reads =
        "Estimates, speed by the number of GPUs (`--speeds`), range of GPUs, run time, arrivals, "
        "whether a job saves its own state.",
    .source =
        "AFS (Hwang et al., NSDI 2021): AFS-L, as `Opt2Jobs` of its author's simulator has it "
        "where the paper leaves ties open.",
    .differs =
        "A job gets no GPU that makes it no faster, by the table. Jobs of whose work nothing is "
        "known are taken to be half done. A job that does not save itself keeps the number that it "
        "runs with. The simulator has whole seconds and any GPU is as good as another; here a job "
        "without a place for its number gets the next smaller one, and jobs that share GPUs count "
        "as if they took them whole and then get what is left.",
    .cost = "O(GPUs x jobs) at each arrival and end; O(jobs (log jobs + a placement)) per event.",
    .proof =
        "The author's simulator on 400 made-up jobs: the rule gives each of its numbers of GPUs, "
        "at the same second, and in our simulator the mean completion time is within 0.02 % "
        "(doc/results/rounds.md, test/paper/afs_test.cpp).",
    .needs = {.preemption = true, .estimates = true}};

namespace {

/// Which of two jobs gets the next GPU; `first` has won it so far.
SizedJob& worthier(SizedJob& first, SizedJob& next) {
  const bool next_is_shorter = next.time(next.gpus) < first.time(first.gpus);
  SizedJob& shorter = next_is_shorter ? next : first;
  SizedJob& longer = next_is_shorter ? first : next;
  const Wide short_now = shorter.speed(shorter.gpus);
  const Wide short_then = shorter.speed(shorter.gpus + 1);
  const Wide long_now = longer.speed(longer.gpus);
  const Wide long_then = longer.speed(longer.gpus + 1);
  const bool gains_more = (short_then - short_now) * long_then > (long_then - long_now) * short_now;
  return gains_more ? shorter : longer;
}

SizedJob* worthiest(std::span<SizedJob> jobs) {
  SizedJob* winner = nullptr;
  for (SizedJob& job : jobs) {
    if (job.can_grow()) winner = winner == nullptr ? &job : &worthier(*winner, job);
  }
  return winner;
}

}  // namespace

void afs_sizes(std::span<SizedJob> jobs, std::int64_t gpus) {
  std::vector<SizedJob*> in_order;
  for (SizedJob& job : jobs) in_order.push_back(&job);
  const auto time = [](const SizedJob* job) { return job->time(job->least); };
  std::ranges::stable_sort(in_order, {}, time);
  for (SizedJob* const job : in_order) give(*job, gpus);
  while (gpus > 0) {
    SizedJob* const winner = worthiest(jobs);
    if (winner == nullptr) return;
    give(*winner, gpus);
  }
}

std::unique_ptr<Policy> afs(const Keys&, std::unique_ptr<Placer> placer, const Knobs&) {
  return sized("afs", afs_sizes, std::move(placer));
}

}  // namespace berth
