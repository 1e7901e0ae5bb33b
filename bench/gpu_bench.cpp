// What berth adds to the driver's own work: suspending and resuming a job over the bare calls of
// the driver, a change of a memory limit, and the step time of a job that berthd watches.
//
// The GPUs are emulated, so the driver's part takes as long as the emulator lets it, and what is
// measured is ours: the daemon, its helper, the search for processes. Each row takes turns between
// berth and the same work without it, so that both see the same machine.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <sstream>
#include <thread>

#include "core/base/rng.hpp"
#include "daemon/cgroup.hpp"
#include "daemon/loop/driver_thread.hpp"
#include "emu/emulator.hpp"
#include "gpu/checkpoint.hpp"
#include "gpu/nvml.hpp"
#include "live/bed.hpp"
#include "live/figures.hpp"
#include "live/queues.hpp"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAllowedPart = 1.05;  ///< Of what the bare calls take; and 20 ms.

std::string path_of(int job) { return "/v1/jobs/" + std::to_string(job); }

std::string gpus_of(const Berthd& daemon) { return daemon.state() + "/emulated-gpus"; }

/// Numbers that a child of ours finds: a driver's library stays in the process that opened it, and
/// belongs to one emulated machine there.
Expected<std::vector<double>> in_child(const std::string& gpus,
                                       const std::function<std::vector<double>()>& work) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return fail(ErrorCode::Io, "a pipe: cannot be made");
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("BERTH_EMU_STATE", gpus.c_str(), 1);
    const auto found = work();
    const std::size_t bytes = found.size() * sizeof(double);
    _exit(write(ends[1], found.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> found;
  double number = 0;
  while (read(ends[0], &number, sizeof number) == sizeof number) found.push_back(number);
  close(ends[0]);
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  if (pid < 0 || status != 0 || found.empty()) {
    return fail(ErrorCode::Conflict, "the driver's calls failed");
  }
  return found;
}

// ---- Suspending ------------------------------------------------------------------------------

struct Suspension {
  int processes = 1;
  int copying_ms = 0;  ///< A checkpoint of all, and a restore.
  int strangers = 0;   ///< Processes of the machine that are nobody's job.
  double duty = 0;     ///< Of each process on the GPU: a driver waits for kernels under way.
  int rounds = 20;
};

constexpr int kStepOfJob = 50;  ///< Milliseconds.

/// Processes that sleep until this goes, or we do.
class Strangers {
 public:
  explicit Strangers(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
      }
      if (pid > 0) pids_.push_back(pid);
    }
  }
  ~Strangers() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

 private:
  std::vector<pid_t> pids_;
};

/// Milliseconds of each round.
struct Turns {
  std::vector<double> berth;
  std::vector<double> bare;

  void tell(const std::string& name, Figures& figures) const {
    std::vector<double> over;
    for (std::size_t i = 0; i < berth.size(); ++i)
      over.push_back(berth[i] - kAllowedPart * bare[i]);
    figures.counters[name + "_p50_ms"] = quantile(berth, 0.5);
    figures.counters[name + "_bare_p50_ms"] = quantile(bare, 0.5);
    figures.counters[name + "_over_p50_ms"] = quantile(over, 0.5);
    figures.counters[name + "_over_max_ms"] = quantile(over, 1);
  }
};

std::vector<pid_t> holders_on(const std::string& gpus) {
  std::vector<pid_t> pids;
  const auto report = emu::report(gpus);
  if (!report) return pids;
  for (const auto& [pid, bytes] : report->front().processes) pids.push_back(pid);
  return pids;
}

/// The driver's calls and no others: what they took to suspend all, and to put all back.
std::vector<double> bare_calls(const std::string& cuda, const std::vector<pid_t>& pids) {
  constexpr Duration kPatience = seconds(5);
  const auto driver = open_checkpoints(cuda);
  if (!driver) return {};
  CheckpointPort& port = *driver->port;
  bool is_well = true;
  const auto each = [&](const auto& call) {
    for (const pid_t pid : pids) is_well = is_well && call(pid).has_value();
  };
  const auto from = Clock::now();
  each([&](pid_t pid) { return port.lock(pid, kPatience); });
  each([&](pid_t pid) { return port.checkpoint(pid); });
  const double suspend = milliseconds_since(from);
  const auto back = Clock::now();
  each([&](pid_t pid) { return port.restore(pid, {}); });
  each([&](pid_t pid) { return port.unlock(pid); });
  return is_well ? std::vector{suspend, milliseconds_since(back)} : std::vector<double>();
}

Expected<double> until(Berthd& daemon, int job, const std::string& verb, const std::string& state) {
  constexpr auto kPause = std::chrono::microseconds(500);
  const auto from = Clock::now();
  if (auto asked = daemon.post(path_of(job) + "/" + verb); !asked) {
    return std::unexpected(asked.error());
  }
  while (milliseconds_since(from) < 30'000) {
    const auto now = daemon.get(path_of(job));
    if (!now) return std::unexpected(now.error());
    if (now->at("state") == state) return milliseconds_since(from);
    std::this_thread::sleep_for(kPause);
  }
  return fail(ErrorCode::Conflict, "the job is not " + state + " after half a minute");
}

Expected<int> start_job(Berthd& daemon, const Suspension& what) {
  std::string line;
  for (int i = 0; i < what.processes; ++i) {
    line += built("berth-load") + " --vram 2G --steps 0 --report 0 --step-ms " +
            std::to_string(kStepOfJob) + " --duty " + std::to_string(what.duty) + " & ";
  }
  const auto job = daemon.submit({"/bin/sh", "-c", line + "wait"}, usual_environment());
  if (!job) return job;
  auto holds = eventually("the job holds its memory", [&] {
    const auto report = emu::report(gpus_of(daemon));
    return report &&
           report->front().used_bytes > std::uint64_t(what.processes) * (2 * emu::kGibibyte);
  });
  return holds ? job : std::unexpected(holds.error());
}

/// Copying takes time by process on one bus.
Expected<void> slow_down(const std::string& gpus, const Suspension& what) {
  if (what.copying_ms == 0) return {};
  for (const auto call : {emu::CheckpointCall::Checkpoint, emu::CheckpointCall::Restore}) {
    const auto done = emu::inject_checkpoint_fault(
        gpus, {.call = call,
               .delay_millis = static_cast<std::uint32_t>(what.copying_ms / what.processes),
               .times = emu::CheckpointFault::kAlways});
    if (!done) return fail(ErrorCode::Io, done.error());
  }
  return {};
}

/// Of some steps: a suspension would meet the kernels of a step always, and another never.
void await_any_moment(Rng& rng) {
  constexpr std::int64_t kSome = 6;
  std::this_thread::sleep_for(std::chrono::milliseconds(rng.between(0, kSome * kStepOfJob)));
}

Expected<Figures> suspension(const Suspension& what) {
  const Bed bed;
  auto daemon = Berthd::start(bed, "1x24GiB", "suspend_host_memory = \"100GiB\"\n");
  if (!daemon) return std::unexpected(daemon.error());
  const auto job = start_job(*daemon, what);
  if (!job) return std::unexpected(job.error());
  const Strangers strangers(what.strangers);
  if (auto done = slow_down(gpus_of(*daemon), what); !done) return std::unexpected(done.error());
  const auto libraries = emu::find_library_directory();
  if (!libraries) return fail(ErrorCode::Io, libraries.error());
  const std::vector<pid_t> pids = holders_on(gpus_of(*daemon));
  Turns suspends;
  Turns resumes;
  Rng rng(1);
  for (int round = 0; round < what.rounds; ++round) {
    await_any_moment(rng);
    const auto down = until(*daemon, *job, "suspend", "suspended");
    if (!down) return std::unexpected(down.error());
    const auto up = until(*daemon, *job, "resume", "running");
    if (!up) return std::unexpected(up.error());
    await_any_moment(rng);
    const auto bare =
        in_child(gpus_of(*daemon), [&] { return bare_calls(*libraries + "/libcuda.so.1", pids); });
    if (!bare) return std::unexpected(bare.error());
    suspends.berth.push_back(*down);
    suspends.bare.push_back(bare->front());
    resumes.berth.push_back(*up);
    resumes.bare.push_back(bare->back());
  }
  Figures figures{.time = Seconds(quantile(suspends.berth, 0.5) / 1000)};
  suspends.tell("suspend", figures);
  resumes.tell("resume", figures);
  return figures;
}

// ---- Limits ----------------------------------------------------------------------------------

/// As berthd does it: the call is another thread's, and a start waits for it. Milliseconds.
std::vector<double> limit_changes(const std::string& library, const std::string& cgroup) {
  constexpr int kChanges = 2'000;
  auto driver = Nvml::open(library);
  if (!driver) return {};
  daemon::DriverThread thread;
  std::vector<double> took;
  bool is_well = true;
  for (int i = 0; i < kChanges; ++i) {
    const Bytes most = Bytes(std::int64_t{1 + i % 8} << 30);
    const auto from = Clock::now();
    thread.post([&] {
      const MemoryLimits limits{.guaranteed = most, .most = most};
      is_well = is_well && (*driver)->set_limits(0, cgroup, limits).has_value();
    });
    if (!thread.wait(seconds(1))) return {};
    took.push_back(milliseconds_since(from));
  }
  const bool is_cleared = (*driver)->set_limits(0, cgroup, {}).has_value();
  return is_well && is_cleared ? took : std::vector<double>();
}

Expected<Figures> limit_change() {
  const Bed bed;
  const test::Cgroup cgroup;
  if (geteuid() != 0 || cgroup.path().empty()) {
    return fail(ErrorCode::NotFound, "needs root and a cgroup v2");
  }
  const std::string gpus = bed / "gpus";
  emu::Spec spec{.gpu_bytes = {24 * emu::kGibibyte}};
  spec.driver = 615;
  if (const auto made = emu::create(gpus, spec); !made) return fail(ErrorCode::Io, made.error());
  const auto folder = emu::find_library_directory();
  if (!folder) return fail(ErrorCode::NotFound, folder.error());
  const auto took =
      in_child(gpus, [&] { return limit_changes(*folder + "/libnvidia-ml.so.1", cgroup.path()); });
  if (!took) return std::unexpected(took.error());
  return Figures{.time = Seconds(quantile(*took, 0.5) / 1000),
                 .counters = {{"p50_ms", quantile(*took, 0.5)},
                              {"p99_ms", quantile(*took, 0.99)},
                              {"max_ms", quantile(*took, 1)}}};
}

// ---- Steps -----------------------------------------------------------------------------------

constexpr double kStep = 10;  ///< Milliseconds, half of them on the GPU.

/// What the kernels of each step took, of a log with a line for each.
std::vector<double> kernel_times(const std::string& log) {
  std::vector<double> times;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("kernels p50 ");
    if (at != std::string::npos) times.push_back(std::strtod(line.c_str() + at + 12, nullptr));
  }
  return times;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, values.size()));
}

/// A second with berthd at work, a second with it stopped, in turns. The GPU is tight: some of it
/// is granted and not taken, so that berthd looks as often as it ever does under a steady load.
Expected<Figures> steps_watched() {
  constexpr int kWindows = 60;
  constexpr auto kWindow = std::chrono::seconds(1);
  const Bed bed;
  // The default policy lets a GPU settle for a minute before another job joins.
  auto daemon = Berthd::start(bed, "1x24GiB", "policy = \"fifo\"\n");
  if (!daemon) return std::unexpected(daemon.error());
  const Json asks = {{"vram_bytes", std::int64_t{9} << 30}};
  const std::string load = built("berth-load");
  const auto other = daemon->submit({load, "--vram", "8G", "--steps", "0", "--step-ms", "1000",
                                     "--duty", "0.001", "--report", "0"},
                                    usual_environment(), asks);
  const auto job = daemon->submit(
      {load, "--vram", "8G", "--steps", "0", "--step-ms", "10", "--report", "1", "--times", "yes"},
      usual_environment(), asks);
  if (!other || !job) return std::unexpected((job ? other : job).error());
  const std::string log = daemon->state() + "/logs/" + std::to_string(*job) + ".log";
  auto runs =
      eventually("the job makes steps", [&] { return kernel_times(slurp(log)).size() > 99; });
  if (!runs) return std::unexpected(runs.error());
  std::array<std::vector<double>, 2> taken;  // with berthd stopped, and watching
  std::vector<double> over;
  for (int window = 0; window < kWindows; ++window) {
    const bool watches = window % 2 == 0;
    kill(daemon->pid(), watches ? SIGCONT : SIGSTOP);
    const std::size_t before = slurp(log).size();
    std::this_thread::sleep_for(kWindow);
    const auto times = kernel_times(slurp(log).substr(before));
    auto& all = taken[watches ? 1 : 0];
    all.insert(all.end(), times.begin(), times.end());
    over.push_back((watches ? 1 : -1) * mean(times));
    if (window % 2 == 1) {
      const double without = -over.back();
      over.pop_back();
      over.back() = (over.back() - without) / kStep * 100;
    }
  }
  kill(daemon->pid(), SIGCONT);
  return Figures{.time = Seconds(mean(taken[1]) / 1000),
                 .counters = {{"watched_mean_ms", mean(taken[1])},
                              {"alone_mean_ms", mean(taken[0])},
                              {"watched_p99_ms", quantile(taken[1], 0.99)},
                              {"alone_p99_ms", quantile(taken[0], 0.99)},
                              {"over_percent_mean", mean(over)},
                              {"over_percent_p50", quantile(over, 0.5)}}};
}

// ---- Rows ------------------------------------------------------------------------------------

BENCHMARK_CAPTURE(report, suspend_1, [] { return suspension({.processes = 1}); })
    ->Name("gpu/suspend/1")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, suspend_8, [] { return suspension({.processes = 8}); })
    ->Name("gpu/suspend/8")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, suspend_8_kernels,
                  [] { return suspension({.processes = 8, .duty = 0.1, .rounds = 100}); })
    ->Name("gpu/suspend/8/kernels")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, suspend_1_copies,
                  [] { return suspension({.processes = 1, .copying_ms = 500, .rounds = 8}); })
    ->Name("gpu/suspend/1/copies_500ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, suspend_8_copies,
                  [] { return suspension({.processes = 8, .copying_ms = 500, .rounds = 8}); })
    ->Name("gpu/suspend/8/copies_500ms")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, suspend_1_beside,
                  [] { return suspension({.processes = 1, .strangers = 2'000}); })
    ->Name("gpu/suspend/1/beside_2000_processes")
    ->Apply(as_row);
BENCHMARK_CAPTURE(report, limits, limit_change)->Name("gpu/limit_change")->Apply(as_row);
BENCHMARK_CAPTURE(report, steps, steps_watched)->Name("gpu/steps_watched")->Apply(as_row);

}  // namespace
}  // namespace berth::bench
