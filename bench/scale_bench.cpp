// The daemon with many jobs: a queue of a thousand to a million, a thousand followers of one log,
// 256 jobs that run.
//
// Everything is real but the GPUs, as in live_bench.cpp. Rows of one kind of environment share a
// queue that grows from row to row; each measures what it costs at its size. In `equal` all jobs
// have the same 3 KB environment, in `distinct` each has one of its own.
#include <benchmark/benchmark.h>

#include <memory>

#include "live/figures.hpp"
#include "scale/followers.hpp"
#include "scale/queue.hpp"
#include "scale/running.hpp"

namespace berth::bench {
namespace {

/// The queue of the rows that are being measured; one at a time.
GrowingQueue& queue_of(Environments environments) {
  static std::unique_ptr<GrowingQueue> queue;
  static Environments has = Environments::Equal;
  if (!queue || has != environments) {
    queue.reset();
    queue = std::make_unique<GrowingQueue>(environments);
    has = environments;
  }
  return *queue;
}

void queue(benchmark::State& state, Environments environments) {
  report(state, [&] { return queue_of(environments).at(static_cast<int>(state.range(0))); });
}

void sizes(benchmark::internal::Benchmark* row) {
  as_row(row);
  row->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
}

BENCHMARK_CAPTURE(queue, equal, Environments::Equal)
    ->Name("scale/queue/equal_environments")
    ->Apply(sizes);
BENCHMARK_CAPTURE(queue, distinct, Environments::Distinct)
    ->Name("scale/queue/distinct_environments")
    ->Apply(sizes);

BENCHMARK_CAPTURE(report, followers, [] { return followers(1000); })
    ->Name("scale/followers/1000")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, running, [] { return running(256); })
    ->Name("scale/running/256")
    ->Apply(as_row);

}  // namespace
}  // namespace berth::bench
