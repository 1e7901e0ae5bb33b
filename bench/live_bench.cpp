// The daemon as its users meet it: from the end of a job to the start of the next, a submit from
// the command line and from many connections, and what it costs while it does nothing.
//
// Everything is real but the GPUs: berthd, its shims, its journal on the disk of the system's
// temporary folder. Debian's task-spooler (`tsp`) does the same work in the same run, in blocks
// that take turns, so that both see the same machine; `ratio` is berth's median over
// task-spooler's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>

#include "live/bed.hpp"
#include "live/disk.hpp"
#include "live/figures.hpp"
#include "live/flood.hpp"
#include "live/load.hpp"
#include "live/queues.hpp"

namespace berth::bench {
namespace {

constexpr int kBlocks = 6;
constexpr int kGaps = 40;  ///< Of a block.

/// task-spooler hangs beyond 993 jobs. Both queues have as many at first, and as many more are
/// submitted, so that the median is that of 950.
constexpr int kQueued = 920;
constexpr int kSubmitBlocks = 6;
constexpr int kSubmits = 10;  ///< Of a block.

constexpr int kWarmUp = 2'000;
constexpr int kLoad = 20'000;

constexpr auto kSettle = std::chrono::seconds(2);
constexpr auto kIdle = std::chrono::seconds(10);

/// Milliseconds of both.
struct Pair {
  std::vector<double> berth;
  std::vector<double> tsp;

  Figures figures() const {
    const double median = quantile(berth, 0.5);
    return {.time = Seconds(median / 1000),
            .counters = {{"p50_ms", median},
                         {"p90_ms", quantile(berth, 0.9)},
                         {"tsp_p50_ms", quantile(tsp, 0.5)},
                         {"tsp_p90_ms", quantile(tsp, 0.9)},
                         {"ratio", median / quantile(tsp, 0.5)},
                         {"ratio_p90", quantile(berth, 0.9) / quantile(tsp, 0.9)}}};
  }
};

Expected<void> need_tsp() {
  if (!installed("tsp").empty()) return {};
  return fail(ErrorCode::NotFound, "needs tsp: install the Debian package task-spooler");
}

// ---- End to next start -----------------------------------------------------------------------

using Submit = std::function<Expected<void>(const Words& command)>;

struct Block {
  const Bed& bed;
  std::string name;  ///< Of its files.
  int milliseconds;  ///< How long each job sleeps.
};

/// From the end of each job to the start of the next, milliseconds.
std::vector<double> gaps(const std::string& stamps) {
  std::istringstream lines(stamps);
  std::vector<double> gaps;
  long long end_before = 0;
  for (long long start = 0, end = 0; lines >> start >> end; end_before = end) {
    if (end_before != 0) gaps.push_back(static_cast<double>(start - end_before) / 1e6);
  }
  return gaps;
}

/// All jobs wait behind a gate, so that the queue is never empty.
Expected<void> measure_block(const Block& block, const Submit& submit, std::vector<double>& into) {
  const Gate gate(block.bed, block.name + ".gate");
  const std::string file = block.bed / (block.name + ".stamps");
  if (auto done = submit(gate.job()); !done) return done;
  for (int i = 0; i <= kGaps; ++i) {
    auto done = submit({built("bench_stamp"), file, std::to_string(block.milliseconds)});
    if (!done) return done;
  }
  gate.open();
  auto ran = eventually("all jobs of a block ran",
                        [&] { return std::ranges::count(slurp(file), '\n') > kGaps; });
  if (ran) std::ranges::copy(gaps(slurp(file)), std::back_inserter(into));
  return ran;
}

Expected<Figures> end_to_next_start(int milliseconds) {
  if (auto there = need_tsp(); !there) return std::unexpected(there.error());
  const Bed bed;
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const Words environment = usual_environment();
  // On emulated GPUs berth's jobs find the driver by LD_LIBRARY_PATH, and the dynamic loader looks
  // there for every library of theirs. A real driver needs no such path, so the cost is the
  // emulator's: task-spooler's jobs have the same path.
  Words with_libraries = environment;
  with_libraries.push_back("LD_LIBRARY_PATH=" + daemon->libraries());
  const TaskSpooler spooler(bed, with_libraries);
  const Submit to_berth = [&](const Words& command) -> Expected<void> {
    const auto job = daemon->submit(command, environment);
    return job ? Expected<void>() : std::unexpected(job.error());
  };
  const Submit to_tsp = [&](const Words& command) -> Expected<void> {
    const auto ran = bed.run(spooler.submit(command));
    return ran ? Expected<void>() : std::unexpected(ran.error());
  };
  Pair pair;
  for (int i = 0; i < kBlocks; ++i) {
    const Block berth{bed, "berth" + std::to_string(i), milliseconds};
    const Block tsp{bed, "tsp" + std::to_string(i), milliseconds};
    auto done = measure_block(berth, to_berth, pair.berth);
    if (done) done = measure_block(tsp, to_tsp, pair.tsp);
    if (!done) return std::unexpected(done.error());
  }
  return pair.figures();
}

// ---- Submits ---------------------------------------------------------------------------------

/// Runs a program some times; milliseconds of each.
Expected<void> time_runs(const Bed& bed, const Program& program, std::vector<double>& into) {
  for (int i = 0; i < kSubmits; ++i) {
    const auto took = bed.run(program);
    if (!took) return std::unexpected(took.error());
    into.push_back(took->count() * 1000);
  }
  return {};
}

Expected<void> fill_queues(const Bed& bed, Berthd& daemon, const TaskSpooler& spooler,
                           const Gate& gate) {
  for (int i = 0; i < kQueued; ++i) {
    const Words command = i == 0 ? gate.job() : Words{"true"};
    const auto job = daemon.submit(command, usual_environment());
    if (!job) return std::unexpected(job.error());
    const auto ran = bed.run(spooler.submit(command));
    if (!ran) return std::unexpected(ran.error());
  }
  return {};
}

/// The whole program, from its start to its end.
Expected<Figures> submit_950_queued() {
  if (auto there = need_tsp(); !there) return std::unexpected(there.error());
  const Bed bed;
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const TaskSpooler spooler(bed, usual_environment());
  const Gate gate(bed, "gate");
  if (auto done = fill_queues(bed, *daemon, spooler, gate); !done) {
    return std::unexpected(done.error());
  }
  Pair pair;
  for (int i = 0; i < kSubmitBlocks; ++i) {
    auto done = time_runs(bed, berth_submit(bed, {"true"}, usual_environment()), pair.berth);
    if (done) done = time_runs(bed, spooler.submit({"true"}), pair.tsp);
    if (!done) return std::unexpected(done.error());
  }
  return pair.figures();
}

/// Every submit is answered when it would survive a crash. The jobs wait behind one that runs.
Expected<Figures> api_submits(Environments environments) {
  const Bed bed;
  const auto wait = fdatasync_us(bed);
  if (!wait) return std::unexpected(wait.error());
  const auto rows = sqlite_rows_per_s(bed);
  if (!rows) return std::unexpected(rows.error());
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const Gate gate(bed, "gate");
  const auto blocker = daemon->submit(gate.job(), usual_environment());
  if (!blocker) return std::unexpected(blocker.error());
  LoadPlan plan{.socket = daemon->socket(), .submits = kWarmUp, .environments = environments};
  if (auto warm = submit_from_many(plan); !warm) return std::unexpected(warm.error());
  plan.submits = kLoad;
  const auto load = submit_from_many(plan);
  if (!load) return std::unexpected(load.error());
  return Figures{.time = load->took / kLoad,
                 .counters = {{"submits_per_s", kLoad / load->took.count()},
                              {"p50_ms", quantile(load->latencies_ms, 0.5)},
                              {"p99_ms", quantile(load->latencies_ms, 0.99)},
                              {"fdatasync_us", *wait},
                              {"sqlite_rows_per_s", *rows}}};
}

// ---- What it costs ---------------------------------------------------------------------------

Expected<Figures> idle() {
  const Bed bed;
  const auto daemon = Berthd::start(bed, "2x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  std::this_thread::sleep_for(kSettle);
  const Seconds before = processor_time(daemon->pid());
  std::this_thread::sleep_for(kIdle);
  const Seconds used = processor_time(daemon->pid()) - before;
  return Figures{.time = used,
                 .counters = {{"cpu_percent", 100 * used / kIdle},
                              {"rss_mib", kib_of(daemon->pid(), "status", {"VmRSS"}) / 1024}}};
}

/// Of a shim whose job sleeps, while a second one shares what is the same in both.
Expected<Figures> shim() {
  const Bed bed;
  auto daemon = Berthd::start(bed, "2x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  int job = 0;
  for (int i = 0; i < 2; ++i) {
    const auto submitted = daemon->submit({"sleep", "1000"}, usual_environment());
    if (!submitted) return std::unexpected(submitted.error());
    job = *submitted;
  }
  const std::string target = "/v1/jobs/" + std::to_string(job);
  auto runs = eventually("a job runs", [&] {
    const auto now = daemon->get(target);
    return now && now->at("state") == "running";
  });
  if (!runs) return std::unexpected(runs.error());
  std::this_thread::sleep_for(kSettle);
  const auto pid = daemon->shim_of(job);
  if (!pid) return std::unexpected(pid.error());
  const auto kib = [&](const std::vector<std::string>& names) {
    return kib_of(*pid, "smaps_rollup", names);
  };
  return Figures{.counters = {{"private_kib", kib({"Private_Clean", "Private_Dirty"})},
                              {"anonymous_kib", kib({"Anonymous"})}}};
}

// ---- Rows ------------------------------------------------------------------------------------

BENCHMARK_CAPTURE(report, gap_10ms, [] { return end_to_next_start(10); })
    ->Name("live/end_to_next_start/10ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, gap_0ms, [] { return end_to_next_start(0); })
    ->Name("live/end_to_next_start/0ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, submit, submit_950_queued)->Name("live/submit/950_queued")->Apply(as_row);
BENCHMARK_CAPTURE(report, equal, [] { return api_submits(Environments::Equal); })
    ->Name("live/api_submits/32/equal_environments")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, distinct, [] { return api_submits(Environments::Distinct); })
    ->Name("live/api_submits/32/distinct_environments")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, lists_0, [] { return flood(0); })->Name("live/lists/0")->Apply(as_row);
BENCHMARK_CAPTURE(report, lists_1, [] { return flood(1); })->Name("live/lists/1")->Apply(as_row);
BENCHMARK_CAPTURE(report, lists_8, [] { return flood(8); })->Name("live/lists/8")->Apply(as_row);
BENCHMARK_CAPTURE(report, lists_32, [] { return flood(32); })->Name("live/lists/32")->Apply(as_row);
BENCHMARK_CAPTURE(report, idle, idle)->Name("live/idle")->Apply(as_row);
BENCHMARK_CAPTURE(report, shim, shim)->Name("live/shim")->Apply(as_row);

}  // namespace
}  // namespace berth::bench
