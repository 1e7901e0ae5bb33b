// The daemon as its users meet it: from the end of a job to the start of the next, a submit from
// the command line and from many connections, and what it costs while it does nothing.
//
// Everything is real but the GPUs: berthd, its shims, its journal on the disk of the system's
// temporary folder, or in memory where a row says so. Debian's task-spooler (`tsp`) does the same
// work in the same run, in turns, so that both see the same machine; `ratio` is berth's median over
// task-spooler's, and on a disk `ratio_apart` the same without one fdatasync.
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
constexpr int kWarmUps = 3;
constexpr int kSubmits = 60;
constexpr auto kBetween =
    std::chrono::milliseconds(10);  ///< Two submits: what follows one is over.

constexpr int kWarmUp = 2'000;
constexpr int kLoad = 20'000;

constexpr auto kSettle = std::chrono::seconds(2);
constexpr auto kIdle = std::chrono::seconds(10);

/// Milliseconds of both.
struct Pair {
  std::vector<double> berth;
  std::vector<double> other;

  Figures figures(const std::string& name = "tsp") const {
    const double median = quantile(berth, 0.5);
    return {.time = Seconds(median / 1000),
            .counters = {{"p50_ms", median},
                         {"p90_ms", quantile(berth, 0.9)},
                         {name + "_p50_ms", quantile(other, 0.5)},
                         {name + "_p90_ms", quantile(other, 0.9)},
                         {"ratio", median / quantile(other, 0.5)},
                         {"ratio_p90", quantile(berth, 0.9) / quantile(other, 0.9)}}};
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

Expected<Figures> end_to_next_start(int milliseconds, Ground ground) {
  if (auto there = need_tsp(); !there) return std::unexpected(there.error());
  const Bed bed(ground);
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
    if (done) done = measure_block(tsp, to_tsp, pair.other);
    if (!done) return std::unexpected(done.error());
  }
  return pair.figures();
}

// ---- Submits ---------------------------------------------------------------------------------

/// Runs a program once, after a pause.
Expected<void> time_run(const Bed& bed, const Program& program, std::vector<double>& into) {
  std::this_thread::sleep_for(kBetween);
  const auto took = bed.run(program);
  if (!took) return std::unexpected(took.error());
  into.push_back(took->count() * 1000);
  return {};
}

/// Two programs in turns, each followed by what ends what it began.
struct Turns {
  const Bed& bed;
  Program berth;
  Program other;
  std::function<Expected<void>()> after_berth = [] { return Expected<void>(); };
  std::function<Expected<void>()> after_other = [] { return Expected<void>(); };

  Expected<Pair> measure() const {
    Pair pair;
    for (int i = 0; i < kWarmUps + kSubmits; ++i) {
      if (i == kWarmUps) pair = {};
      auto done = time_run(bed, berth, pair.berth);
      if (done) done = after_berth();
      if (done) done = time_run(bed, other, pair.other);
      if (done) done = after_other();
      if (!done) return std::unexpected(done.error());
    }
    return pair;
  }
};

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

/// What a submit takes beside its wait for the disk, of which there is one.
Expected<Figures> with_disk_apart(Figures figures, const Bed& bed) {
  const auto wait = fdatasync_us(bed, kBetween);
  if (!wait) return std::unexpected(wait.error());
  auto& counters = figures.counters;
  counters["fdatasync_us"] = *wait;
  counters["ratio_apart"] = (counters["p50_ms"] - *wait / 1000) / counters["tsp_p50_ms"];
  return figures;
}

/// The whole program, from its start to its end, while as many jobs wait.
Expected<Figures> submit_950_queued(Ground ground) {
  if (auto there = need_tsp(); !there) return std::unexpected(there.error());
  const Bed bed(ground);
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const TaskSpooler spooler(bed, usual_environment());
  const Gate gate(bed, "gate");
  if (auto done = fill_queues(bed, *daemon, spooler, gate); !done) {
    return std::unexpected(done.error());
  }
  const Turns turns{
      .bed = bed,
      .berth = berth_submit(bed, as_installed("berth"), {"true"}, usual_environment()),
      .other = spooler.submit({"true"})};
  const auto pair = turns.measure();
  if (!pair) return std::unexpected(pair.error());
  return with_disk_apart(pair->figures(), bed);
}

/// The same with nothing that waits or runs: each job starts at once, beside the end of the program
/// that submitted it, and has ended before the next is submitted.
Expected<Figures> submit_0_queued(Ground ground) {
  if (auto there = need_tsp(); !there) return std::unexpected(there.error());
  const Bed bed(ground);
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const TaskSpooler spooler(bed, usual_environment());
  int job = 0;
  const auto job_ends = [&] {
    const std::string target = "/v1/jobs/" + std::to_string(++job);
    return eventually("a job ends", [&] {
      const auto now = daemon->get(target);
      return now && now->at("state") == "done";
    });
  };
  const auto tsp_ends = [&]() -> Expected<void> {
    const auto ran = bed.run(spooler.wait());
    return ran ? Expected<void>() : std::unexpected(ran.error());
  };
  const Turns turns{
      .bed = bed,
      .berth = berth_submit(bed, as_installed("berth"), {"true"}, usual_environment()),
      .other = spooler.submit({"true"}),
      .after_berth = job_ends,
      .after_other = tsp_ends};
  const auto pair = turns.measure();
  if (!pair) return std::unexpected(pair.error());
  return with_disk_apart(pair->figures(), bed);
}

/// What every call of `berth` costs before it does anything, beside the smallest program there is.
Expected<Figures> start_of_program() {
  const Bed bed;
  const Turns turns{.bed = bed,
                    .berth = {.words = {as_installed("berth"), "version"},
                              .environment = {"BERTH_SOCKET=" + (bed / "nobody")}},
                    .other = {.words = {installed("true")}, .environment = {}}};
  const auto pair = turns.measure();
  if (!pair) return std::unexpected(pair.error());
  return pair->figures("true");
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

BENCHMARK_CAPTURE(report, gap_10ms, [] { return end_to_next_start(10, Ground::Disk); })
    ->Name("live/end_to_next_start/10ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, gap_0ms, [] { return end_to_next_start(0, Ground::Disk); })
    ->Name("live/end_to_next_start/0ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, memory_gap_10ms, [] { return end_to_next_start(10, Ground::Memory); })
    ->Name("live/end_to_next_start/10ms/memory")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, memory_gap_0ms, [] { return end_to_next_start(0, Ground::Memory); })
    ->Name("live/end_to_next_start/0ms/memory")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, submit_0, [] { return submit_0_queued(Ground::Disk); })
    ->Name("live/submit/0_queued")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, submit_950, [] { return submit_950_queued(Ground::Disk); })
    ->Name("live/submit/950_queued")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, memory_submit_0, [] { return submit_0_queued(Ground::Memory); })
    ->Name("live/submit/0_queued/memory")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, memory_submit_950, [] { return submit_950_queued(Ground::Memory); })
    ->Name("live/submit/950_queued/memory")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, start, start_of_program)->Name("live/start_of_program")->Apply(as_row);
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
