// One decision: the time of a step in which a job ends and another arrives, against the queue's
// length.
//
// 1,000 GPUs (125 nodes of 8), full; the queue holds jobs of mixed size, memory and length of 20
// users. Counters are microseconds per step: p50, p99 and the worst. What a step costs should
// follow what changed in it, not the length of the queue.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

Cluster thousand_gpus() {
  Cluster cluster;
  for (int s = 0; s < 5; ++s) {
    cluster.add_switch();
    for (int n = 0; n < 25; ++n) {
      cluster.add_node({.name = "n", .gpus = 8, .vram = Bytes(std::int64_t{80} << 30)});
    }
  }
  return cluster;
}

/// Half whole GPUs in gangs of 1 to 32, half 4 to 60 GiB of one or two GPUs.
JobSpec random_spec(Rng& rng) {
  JobSpec spec{.user = UserId(static_cast<std::uint32_t>(rng.between(1, 20)))};
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
  Bed(const char* policy, const char* place, std::int64_t pending)
      : engine_(thousand_gpus(), {}, *make_policy(policy, place)) {
    while (queued() < pending) {
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

 private:
  std::int64_t queued() const {
    return static_cast<std::int64_t>(engine_.view().job_count() - engine_.view().running().size());
  }

  Input arrival() { return Submitted{.job = JobId(++last_), .spec = random_spec(rng_)}; }

  double step(std::vector<Input> inputs) {
    double first = 0;
    while (!inputs.empty()) {
      const auto from = std::chrono::steady_clock::now();
      const Effects& effects = engine_.step(now_, inputs);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
      first = std::max(first, took.count());
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
  Rng rng_{11};
  std::uint64_t last_ = 0;
  Instant now_ = kStart;
};

void decide(benchmark::State& state, const char* policy, const char* place) {
  Bed bed(policy, place, state.range(0));
  std::vector<double> times;
  for (auto _ : state) {
    times.push_back(bed.turn());
    state.SetIterationTime(times.back());
  }
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return 1e6 * times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  state.counters["p50_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["max_us"] = times.back() * 1e6;
}

void lengths(benchmark::internal::Benchmark* bench) {
  bench->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
  bench->Iterations(2000)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(decide, headroom, "headroom", "least-shared")->Apply(lengths);
BENCHMARK_CAPTURE(decide, easy, "easy", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, fifo, "fifo", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, fifo_skip, "fifo-skip", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, fifo_skip_best_fit, "fifo-skip", "best-fit")->Apply(lengths);
BENCHMARK_CAPTURE(decide, sjf, "sjf", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, fair_share, "fair-share", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, dlas, "dlas", "consolidated")->Apply(lengths);
BENCHMARK_CAPTURE(decide, srtf, "srtf", "consolidated")->Apply(lengths);

}  // namespace
}  // namespace berth
