// One decision: the time of a step in which a job ends and another arrives, against the queue's
// length, the cluster and the number of users, under every policy.
//
// Nodes of 8 GPUs, full; the queue holds jobs of mixed size, memory and length. Counters are
// microseconds of processor time per step, of the longest of its passes: p50, p99 and the worst;
// the mean of all its passes together; and p50 of steps in which a job arrives and none ends. What
// a step costs should follow what changed in it, not the length of the queue.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "decide/bed.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

/// 2,000 steps, or fewer of a policy that needs longer than this for them.
void decide(benchmark::State& state, const std::string& policy, const std::string& place,
            const Size& size) {
  constexpr std::size_t kSteps = 2000;
  constexpr double kLongest = 10;  // seconds
  std::vector<double> times;
  std::vector<double> arrivals;
  for (auto _ : state) {
    Bed bed(policy, place, size);
    const double before = bed.spent();
    while (times.size() < kSteps && bed.spent() < before + kLongest) times.push_back(bed.turn());
    const double all = (bed.spent() - before) / static_cast<double>(times.size());
    state.SetIterationTime(all);
    state.counters["all_us"] = 1e6 * all;
    while (arrivals.size() < times.size() / 4 + 1) arrivals.push_back(bed.arrive());
  }
  std::ranges::sort(times);
  std::ranges::sort(arrivals);
  const auto at = [&](double share) {
    return 1e6 * times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  state.counters["arrival_us"] = 1e6 * arrivals[arrivals.size() / 2];
  state.counters["p50_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["max_us"] = times.back() * 1e6;
}

void measure(const std::string& policy, const std::string& place, const Size& size) {
  const auto number = [](std::int64_t count) { return std::to_string(count); };
  const std::string name = "decide/" + policy + "/" + place + "/gpus:" + number(size.gpus) +
                           "/users:" + number(size.users) + "/" + number(size.waiting);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { decide(state, policy, place, size); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

/// Every policy of the registry, with the placement that it is meant for.
const bool kRegistered = [] {
  for (const PolicyEntry& entry : policies()) {
    const std::string policy(entry.name);
    const std::string place(entry.place);
    for (const std::int64_t waiting : {1'000, 10'000, 100'000}) {
      measure(policy, place, {.waiting = waiting});
      measure(policy, place, {.waiting = waiting, .gpus = 10'000, .users = 1'000});
    }
  }
  for (const char* const policy : {"headroom", "fifo-skip", "srtf"}) {
    measure(policy, "best-fit", {.waiting = 10'000});
    measure(policy, "consolidated", {.waiting = 1'000'000});
  }
  return true;
}();

}  // namespace
}  // namespace berth
