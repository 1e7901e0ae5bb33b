// One decision: the time of a step in which a job ends and another arrives, against the queue's
// length, the cluster and the number of users, under every policy.
//
// Nodes of 8 GPUs, full; the queue holds jobs of mixed size, memory and length. Counters are
// microseconds of processor time per step: p50, p99 and the worst; and p50 of steps in which a job
// arrives and none ends. What a step costs should follow what changed in it, not the length of the
// queue.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

/// What a row is of.
struct Size {
  std::int64_t waiting;
  std::int64_t gpus = 1000;
  std::int64_t users = 20;
};

Cluster cluster_of(std::int64_t gpus) {
  constexpr std::int64_t kGpusOfSwitch = 200;
  Cluster cluster;
  for (std::int64_t at = 0; at < gpus; at += 8) {
    if (at % kGpusOfSwitch == 0) cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 8, .vram = Bytes(std::int64_t{80} << 30)});
  }
  return cluster;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Half whole GPUs in gangs of 1 to 32, half 4 to 60 GiB of one or two GPUs.
JobSpec random_spec(Rng& rng, std::int64_t users) {
  JobSpec spec{.user = UserId(static_cast<std::uint32_t>(rng.between(1, users)))};
  GpuRequest& gpu = spec.request.gpu;
  if (rng.one_in(2)) {
    gpu.count = GpuCount(std::int64_t{1} << rng.between(0, 5));
    gpu.sharing = Sharing::Alone;
  } else {
    gpu.count = GpuCount(rng.between(1, 2));
    gpu.vram = Bytes(rng.between(1, 15) * (std::int64_t{4} << 30));
  }
  spec.estimate = minutes(rng.between(5, 3000));
  return spec;
}

/// An engine with its cluster full and `pending` jobs waiting, and a shell that answers at once.
class Bed {
 public:
  Bed(const std::string& policy, const std::string& place, const Size& size)
      : engine_(cluster_of(size.gpus), {}, *make_policy(policy, place)), users_(size.users) {
    while (queued() < size.waiting) {
      std::vector<Input> arrivals;
      for (int i = 0; i < 1000; ++i) arrivals.push_back(arrival());
      step(std::move(arrivals));
    }
  }

  /// Returns: how long the step took that ends one random running job and brings one new job.
  double turn() {
    now_ += seconds(1);
    std::vector<Input> inputs;
    const auto running = engine_.view().running();
    const JobId id = running[static_cast<std::size_t>(rng_.between(0, std::ssize(running) - 1))];
    const Attempt attempt = engine_.view().find(id)->attempt;
    inputs.push_back(Exited{.job = id, .attempt = attempt});
    inputs.push_back(Released{id, attempt});
    inputs.push_back(arrival());
    return step(std::move(inputs));
  }

  /// Returns: how long the step took that brings one new job.
  double arrive() {
    now_ += seconds(1);
    return step({arrival()});
  }

 private:
  std::int64_t queued() const {
    return static_cast<std::int64_t>(engine_.view().job_count() - engine_.view().running().size());
  }

  Input arrival() { return Submitted{.job = JobId(++last_), .spec = random_spec(rng_, users_)}; }

  double step(std::vector<Input> inputs) {
    double first = 0;
    while (!inputs.empty()) {
      const double from = processor_seconds();
      const Effects& effects = engine_.step(now_, inputs);
      first = std::max(first, processor_seconds() - from);
      inputs.clear();
      for (const Effect& effect : effects.list) {
        if (const auto* stop = std::get_if<Stop>(&effect)) {
          inputs.push_back(Released{stop->job, stop->attempt});
        }
      }
    }
    return first;
  }

  Engine engine_;
  std::int64_t users_;
  Rng rng_{11};
  std::uint64_t last_ = 0;
  Instant now_ = kStart;
};

/// 2,000 steps, or fewer of a policy that needs longer than this for them.
void decide(benchmark::State& state, const std::string& policy, const std::string& place,
            const Size& size) {
  constexpr std::size_t kSteps = 2000;
  constexpr double kLongest = 10;  // seconds
  std::vector<double> times;
  std::vector<double> arrivals;
  for (auto _ : state) {
    Bed bed(policy, place, size);
    double all = 0;
    while (times.size() < kSteps && all < kLongest) all += times.emplace_back(bed.turn());
    state.SetIterationTime(all / static_cast<double>(times.size()));
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
