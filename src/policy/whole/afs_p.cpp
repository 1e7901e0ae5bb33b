// AFS-P: jobs of which nothing is known take turns; GPUs that are left go where they gain most.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/wide.hpp"
#include "policy/policies.hpp"
#include "policy/whole/sized.hpp"

namespace berth {

constexpr auto kAfsPKeys =
    std::to_array<Key>({{.name = "turn",
                         .type = KeyType::Time,
                         .usual = "2h",
                         .least = micros(seconds(1)),
                         .most = kYear,
                         .what = "How long a job keeps its GPUs where not all jobs have some."}});

constexpr About kAfsP{
    .title = "AFS-P: turns for jobs of unknown length; spare GPUs where they gain most speed.",
    .rule =
        "At every arrival and end, and when a turn is over, numbers of GPUs are set again. With no "
        "fewer jobs than GPUs, a job keeps what it has until its turn is over (`turn`); then it "
        "counts as one turn more. The others get their least number each, those with the fewest "
        "turns first, among them those that began first, then by arrival; each has a new turn. "
        "With fewer jobs than GPUs that is so for all jobs, and more GPUs go out one at a time. "
        "The one that gets it wins against one job after the other in that order. With speeds "
        "v(n) on n GPUs and gain d = v(n+1) - v(n), the next job wins if v(n+1) / d of it is no "
        "more than v(n) / d of the one before, and loses if it is so the other way round; else one "
        "of the two is drawn. Places as in `afs`.",
    .reads =
        "Range of GPUs, speed by the number of GPUs (`--speeds`), when jobs got GPUs, arrivals, "
        "whether a job saves its own state, the run's seed.",
    .source = "AFS (Hwang et al., NSDI 2021): AFS-P, as `OptPP` of its author's simulator has it.",
    .differs = "As `afs`, but that nothing of the jobs' work is read.",
    .cost = "As `afs`, and at each end of a turn.",
    .proof =
        "The author's simulator on 400 made-up jobs: the rule, with the simulator's draws, gives "
        "each of its numbers of GPUs, at the same second, and in our simulator the mean completion "
        "time is within 0.2 % (doc/results/rounds.md, "
        "test/paper/afs_test.cpp).",
    .needs = {.preemption = true},
    .keys = kAfsPKeys};

namespace {

/// v(n) / (v(n+1) - v(n)), or with v(n+1) above. Compared without dividing.
struct PerGain {
  Wide speed;
  Wide gain;
  bool operator<=(const PerGain& other) const { return speed * other.gain <= other.speed * gain; }
};

PerGain now_per_gain(const SizedJob& job) {
  return {.speed = job.speed(job.gpus), .gain = job.speed(job.gpus + 1) - job.speed(job.gpus)};
}
PerGain then_per_gain(const SizedJob& job) {
  return {.speed = job.speed(job.gpus + 1), .gain = job.speed(job.gpus + 1) - job.speed(job.gpus)};
}

SizedJob* gains_most(std::span<SizedJob* const> jobs, const std::function<bool()>& later_wins) {
  SizedJob* winner = nullptr;
  for (SizedJob* const job : jobs) {
    if (!job->can_grow()) continue;
    if (winner == nullptr || then_per_gain(*job) <= now_per_gain(*winner)) {
      winner = job;
    } else if (!(then_per_gain(*winner) <= now_per_gain(*job)) && later_wins()) {
      winner = job;
    }
  }
  return winner;
}

/// The jobs that get a new turn, in the order in which they get it; the others keep what they have.
std::vector<SizedJob*> in_turn(std::span<SizedJob> jobs, bool is_ample, Instant now) {
  std::vector<SizedJob*> turning;
  for (SizedJob& job : jobs) {
    if (!is_ample && job.held > 0 && job.turns.until > now) {
      job.gpus = job.held;
      continue;
    }
    if (!is_ample && job.held > 0) ++job.turns.over;
    turning.push_back(&job);
  }
  std::ranges::stable_sort(turning, {}, [](const SizedJob* job) {
    return std::tuple(job->turns.over, job->turns.first);
  });
  return turning;
}

}  // namespace

Instant afs_p_sizes(std::span<SizedJob> jobs, std::int64_t gpus, Instant now, Duration turn,
                    const std::function<bool()>& later_wins) {
  const bool is_ample = std::ssize(jobs) < gpus;
  const std::vector<SizedJob*> turning = in_turn(jobs, is_ample, now);
  for (const SizedJob& job : jobs) gpus -= job.gpus;
  for (SizedJob* const job : turning) give(*job, gpus);
  while (is_ample && gpus > 0) {
    SizedJob* const winner = gains_most(turning, later_wins);
    if (winner == nullptr) break;
    give(*winner, gpus);
  }
  for (SizedJob* const job : turning) {
    job->turns.until = job->gpus > 0 ? later(now, turn) : kNever;
    if (job->gpus > 0) job->turns.first = std::min(job->turns.first, now);
  }
  Instant again = kNever;
  for (const SizedJob& job : jobs) again = std::min(again, job.turns.until);
  return again;
}

std::unique_ptr<Policy> afs_p(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  const auto plan = [turn = keys.time("turn")](std::span<SizedJob> jobs, std::int64_t gpus,
                                               Instant now, Rng draws) {
    return afs_p_sizes(jobs, gpus, now, turn, [&] { return draws.one_in(2); });
  };
  return sized_by_plan("afs-p", plan, Duration::zero(), std::move(placer));
}

}  // namespace berth
