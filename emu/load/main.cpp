// berth-load: a GPU job that holds memory and runs steps. See --help and doc/emulator.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "emu/load/driver_api.hpp"
#include "emu/load/options.hpp"
#include "emu/load/plan.hpp"
#include "emu/load/worker.hpp"

namespace berth::emu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFailed = 1;
constexpr int kBadFlag = 2;
constexpr int kOutOfMemory = 77;

int fail(const std::string& message, int code = kFailed) {
  std::fprintf(stderr, "berth-load: %s\n", message.c_str());
  return code;
}

int fail(const Failure& failure) {
  return fail(failure.what, failure.result == kDriverOutOfMemory ? kOutOfMemory : kFailed);
}

std::uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

/// The running job.
class Job {
 public:
  Job(const LoadOptions& options, std::vector<Worker> workers)
      : options_(options), workers_(std::move(workers)), start_(Clock::now()) {
    for (Worker& worker : workers_) {
      if (options.checks) worker.write_pattern();
    }
  }

  /// Runs all steps.
  Done run() {
    for (std::uint64_t step = 1; options_.steps == 0 || step <= options_.steps; ++step) {
      if (step == options_.fault_at) {
        if (auto trapped = workers_.front().trap(); !trapped) return trapped;
      }
      if (auto done = run_step((step - 1) * options_.step_nanoseconds); !done) return done;
      if (options_.report_every != 0 && step % options_.report_every == 0) report(step);
    }
    if (auto checked = check(); !checked) return checked;
    std::printf("done: %llu steps in %.3f s, %.2f steps/s, held at most %s per GPU\n",
                static_cast<unsigned long long>(options_.steps), seconds(),
                static_cast<double>(options_.steps) / seconds(), format_bytes(peak_).c_str());
    return {};
  }

 private:
  Done check() const {
    if (!options_.checks) return {};
    std::uint64_t blocks = 0;
    for (const Worker& worker : workers_) {
      const auto intact = worker.check_pattern();
      if (!intact) return std::unexpected(intact.error());
      blocks += *intact;
    }
    std::printf("memory intact: %llu blocks\n", static_cast<unsigned long long>(blocks));
    return {};
  }

  Done run_step(std::uint64_t done) {
    const auto gpu_time =
        static_cast<std::uint64_t>(static_cast<double>(options_.step_nanoseconds) * options_.duty);
    const auto began = Clock::now();
    for (auto& worker : workers_) {
      if (auto held = settle_memory(worker, done); !held) return held;
      if (auto launched = worker.launch(gpu_time); !launched) return launched;
    }
    for (auto& worker : workers_) {
      if (auto waited = worker.synchronise(); !waited) return waited;
    }
    if (options_.tells_times) taken_.push_back(nanoseconds_since(began));
    std::this_thread::sleep_for(std::chrono::nanoseconds(options_.step_nanoseconds - gpu_time));
    return {};
  }

  Done settle_memory(Worker& worker, std::uint64_t done) {
    const auto elapsed = nanoseconds_since(start_);
    const bool ramped = elapsed >= options_.ramp_nanoseconds;
    const bool drawn = options_.curve.empty() || done >= options_.curve.back().nanoseconds;
    const bool complete = ramped && drawn && options_.grow_bytes_per_second == 0;
    const auto wanted = steady_bytes(options_, elapsed) + curve_bytes(options_, done);
    if (auto held = take(worker, wanted, complete); !held) return held;
    const auto spike = is_spiking(options_, elapsed) ? options_.spike_bytes : 0;
    if (auto spiked = worker.spike(spike); !spiked) return spiked;
    peak_ = std::max(peak_, worker.held_bytes());
    return {};
  }

  /// A job that keeps what it gets takes the largest part that there is.
  Done take(Worker& worker, std::uint64_t wanted, bool complete) const {
    constexpr std::uint64_t kLeast = 2 * kMebibyte;
    for (;;) {
      auto held = worker.hold(wanted, complete);
      const bool is_out = !held && held.error().result == kDriverOutOfMemory;
      if (!is_out || !options_.keeps) return held;
      const auto missing = wanted - worker.steady_bytes();
      if (missing <= kLeast) return {};
      wanted -= missing / 2;
      complete = true;
    }
  }

  void report(std::uint64_t step) {
    const auto total = options_.steps == 0 ? "" : "/" + std::to_string(options_.steps);
    std::printf("step %llu%s  %.2f steps/s  holding %s per GPU%s\n",
                static_cast<unsigned long long>(step), total.c_str(),
                static_cast<double>(step) / seconds(),
                format_bytes(workers_.front().held_bytes()).c_str(), times().c_str());
  }

  /// Of the kernels since the last line.
  std::string times() {
    if (taken_.empty()) return "";
    constexpr double kMilli = 1e6;
    std::ranges::sort(taken_);
    const auto at = [&](std::size_t percent) {
      return static_cast<double>(taken_[(taken_.size() - 1) * percent / 100]) / kMilli;
    };
    char text[96];
    std::snprintf(text, sizeof text, "  kernels p50 %.4f p99 %.4f worst %.4f ms", at(50), at(99),
                  at(100));
    taken_.clear();
    return text;
  }

  double seconds() const { return static_cast<double>(nanoseconds_since(start_)) / 1e9; }

  const LoadOptions& options_;
  std::vector<Worker> workers_;
  Clock::time_point start_;
  std::uint64_t peak_ = 0;
  std::vector<std::uint64_t> taken_;  ///< Nanoseconds of the kernels since the last line.
};

int run(const LoadOptions& options) {
  const auto api = open_driver();
  if (!api) return fail("no CUDA driver: " + api.error());
  if (const int started = api->init(0); started != kDriverSuccess) {
    return fail("cuInit: " + describe(*api, started));
  }
  int visible = 0;
  api->device_get_count(&visible);
  if (options.first + options.gpus > visible) {
    const auto first = options.first == 0 ? "" : " --first " + std::to_string(options.first);
    return fail("--gpus " + std::to_string(options.gpus) + first + ": " + std::to_string(visible) +
                    " visible",
                kBadFlag);
  }
  std::vector<Worker> workers;
  for (int i = 0; i < options.gpus; ++i) {
    auto worker = Worker::start(*api, options.first + i);
    if (!worker) return fail(worker.error());
    workers.push_back(std::move(*worker));
  }
  const auto done = Job(options, std::move(workers)).run();
  return done ? options.exit_code : fail(done.error());
}

int run(const std::vector<std::string_view>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a log must show a step when it happened
  const auto options = parse_load_options(words);
  if (!options) return fail(options.error(), kBadFlag);
  if (options->help) {
    std::fputs(kLoadHelp, stdout);
    return 0;
  }
  return run(*options);
}

}  // namespace
}  // namespace berth::emu

int main(int count, char** words) {
  return berth::emu::run(std::vector<std::string_view>(words + 1, words + count));
}
