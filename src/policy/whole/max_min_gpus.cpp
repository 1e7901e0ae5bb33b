// Max-min fairness in numbers of GPUs: jobs get one each in turn.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "policy/policies.hpp"
#include "policy/whole/sized.hpp"

namespace berth {

constexpr About kMaxMinGpus{
    .title = "Max-min fairness in numbers of GPUs: jobs get one GPU each in turn.",
    .rule =
        "At every arrival and end all numbers of GPUs are set again. Jobs that run come first, in "
        "the order in which they got GPUs, then those that wait, in order of arrival. In that "
        "order each gets its least number, any that fits, and then one GPU more in turn, until "
        "none is left or no job can use more. Places as in `afs`.",
    .reads =
        "Range of GPUs, speed by the number of GPUs (`--speeds`), when jobs got GPUs, arrivals, "
        "whether a job saves its own state.",
    .source = "A baseline of AFS (Hwang et al., NSDI 2021), as its author's simulator has it.",
    .differs = "As `afs`, but that nothing of the jobs' work is read.",
    .cost = "O(GPUs + jobs log jobs) at each arrival and end; else as `afs`.",
    .proof =
        "The simulator of AFS' author on 400 made-up jobs: the rule gives each of its numbers of "
        "GPUs, at the same second, and in our simulator the mean completion time is within 0.02 % "
        "(doc/results/rounds.md, test/paper/afs_test.cpp)."};

void max_min_sizes(std::span<SizedJob> jobs, std::int64_t gpus) {
  std::vector<SizedJob*> in_turn;
  for (SizedJob& job : jobs) in_turn.push_back(&job);
  std::ranges::stable_sort(in_turn, {}, &SizedJob::since);
  give_in_turn(std::move(in_turn), gpus);
}

std::unique_ptr<Policy> max_min_gpus(const Keys&, std::unique_ptr<Placer> placer, const Knobs&) {
  return sized("max-min-gpus", max_min_sizes, std::move(placer));
}

}  // namespace berth
