// Whole replays: jobs per second of the simulation loop, on workloads shaped like the peer's own.
//
// `jobs/s` is comparable to what peer simulators report for a whole run, less reading the file.
#include <benchmark/benchmark.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "sim/estimates.hpp"
#include "sim/simulator.hpp"
#include "trace/generate.hpp"
#include "trace/trace.hpp"

namespace berth {
namespace {

/// One job every `gap` seconds; GPU counts as in the Tiresias traces: half of one, up to 32.
trace::Trace workload(std::size_t jobs, std::int64_t gap) {
  constexpr std::int64_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};
  trace::Trace trace;
  Rng rng(7);
  for (std::size_t i = 0; i < jobs; ++i) {
    trace::TraceJob job{
        .name = std::to_string(i),
        .submit = kStart + seconds(gap * static_cast<std::int64_t>(i)),
        .duration = seconds(rng.one_in(6) ? rng.between(20'000, 60'000) : rng.between(60, 6'000)),
        .spec = {}};
    job.spec.request.gpu.count = GpuCount(sizes[static_cast<std::size_t>(rng.between(0, 15))]);
    job.spec.request.gpu.sharing = Sharing::Alone;
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

/// The trace the peer's own figures were taken on; nothing where it is not at hand.
std::optional<trace::Trace> peer_trace() {
  std::ifstream file(std::string(BERTH_SHARED_DIR) + "/oracles/tiresias/Y480.csv");
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  auto trace = trace::read_tiresias(text.str(), "Y480.csv");
  if (!trace) return std::nullopt;
  return std::move(*trace);
}

void replay_trace(benchmark::State& state, const trace::Trace& trace, const char* policy,
                  const char* place, const char* cluster) {
  const Cluster machines = *trace::parse_cluster(cluster);
  for (auto _ : state) {
    auto result = sim::simulate(trace, machines, *make_policy(policy, place));
    benchmark::DoNotOptimize(result);
  }
  state.counters["jobs/s"] = benchmark::Counter(static_cast<double>(trace.jobs.size()),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void peer(benchmark::State& state, const char* policy, const char* place) {
  static const std::optional<trace::Trace> trace = peer_trace();
  if (!trace) return state.SkipWithError("Y480.csv is not at hand");
  replay_trace(state, *trace, policy, place, "32x4");
}

void replay(benchmark::State& state, const char* policy, const char* place, const char* cluster,
            std::size_t jobs, std::int64_t gap) {
  const trace::Trace trace = workload(jobs, gap);
  replay_trace(state, trace, policy, place, cluster);
}

/// A hundred jobs for each GPU, arriving so fast that they offer 95 % of what the GPUs can do.
void growth(benchmark::State& state, const char* policy) {
  const auto jobs = static_cast<std::int64_t>(state.range(0));
  const std::int64_t nodes = jobs / 800;
  trace::Trace trace = trace::philly_like(jobs, 1);
  double offered = 0;
  for (const trace::TraceJob& job : trace.jobs)
    offered += static_cast<double>(micros(job.duration) * job.spec.request.gpu.count.raw());
  const auto span = static_cast<double>(micros(trace.jobs.back().submit - kStart));
  sim::apply_load(trace, 0.95 * span * static_cast<double>(nodes * 8) / offered);
  replay_trace(state, trace, policy, "consolidated", (std::to_string(nodes) + "x8").c_str());
  state.counters["us_per_job"] = benchmark::Counter(
      static_cast<double>(jobs) / 1e6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kSecond);
}

BENCHMARK_CAPTURE(growth, fifo_skip, "fifo-skip")->Apply(sizes);
BENCHMARK_CAPTURE(growth, srtf, "srtf")->Apply(sizes);
BENCHMARK_CAPTURE(growth, las, "las")->Apply(sizes);
BENCHMARK_CAPTURE(growth, headroom, "headroom")->Apply(sizes);
BENCHMARK_CAPTURE(peer, Y480_fifo, "tiresias/fifo", "count");
BENCHMARK_CAPTURE(peer, Y480_fifo_yarn, "tiresias/fifo", "yarn");
BENCHMARK_CAPTURE(peer, Y480_dlas_gpu, "tiresias/dlas-gpu", "count");
BENCHMARK_CAPTURE(peer, Y480_shortest, "tiresias/shortest", "count");
BENCHMARK_CAPTURE(replay, J5000_fifo, "tiresias/fifo", "count", "5x32x8", 5000, 30);
BENCHMARK_CAPTURE(replay, J5000_dlas_gpu, "tiresias/dlas-gpu", "count", "5x32x8", 5000, 30);
BENCHMARK_CAPTURE(replay, J5000_shortest, "tiresias/shortest", "count", "5x32x8", 5000, 30);
BENCHMARK_CAPTURE(replay, J5000_srtf, "srtf", "consolidated", "5x32x8", 5000, 30);
BENCHMARK_CAPTURE(replay, J100k_fifo_skip, "fifo-skip", "consolidated", "10x32x8", 100'000, 15)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
