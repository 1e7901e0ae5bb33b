// The journal: what a small step costs, and how many submits per second become durable.
//
// In a folder of its own under the system's temporary folder; the disk's own wait is measured first
// (a page written in place and waited for), because everything durable is bounded by it. A third
// benchmark drives syncs and checkpoints from a second thread, as the daemon does.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/journal.hpp"
#include "journal/store.hpp"

namespace berth::journal {
namespace {

constexpr std::size_t kEnvironment = 3 * 1024;
constexpr int kGroup = 32;

/// A new folder that goes with everything in it.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

template <class T>
T need(Expected<T> value) {
  if (!value) std::abort();
  return std::move(*value);
}
void need(Expected<void> done) {
  if (!done) std::abort();
}

JobSpec small_spec(BlobId command = {}) {
  JobSpec spec{.user = UserId(1000)};
  spec.request.gpu.count = GpuCount(1);
  spec.request.gpu.vram = Bytes(std::int64_t{20} << 30);
  spec.command = command;
  return spec;
}

/// A store that is written as a daemon writes it.
class Bed {
 public:
  Bed() : store_(need(Store::open(folder_ / "journal.db"))) {
    need(store_.begin());
    need(store_.add_snapshot({.policy = "fifo", .place = "best-fit", .build = "0", .state = "0"}));
    need(store_.commit());
  }
  Store& store() { return store_; }

  /// One step of one input and one decision, in two commits as the format asks, or in one.
  void step_in_two() {
    need(store_.begin());
    need(store_.add_inputs(++entry_, kStart, inputs_));
    need(store_.commit());
    need(store_.begin());
    need(store_.add_decisions(entry_, decisions_));
    need(store_.commit());
  }
  void step_in_one() {
    need(store_.begin());
    need(store_.add_inputs(++entry_, kStart, inputs_));
    need(store_.add_decisions(entry_, decisions_));
    need(store_.commit());
  }

  /// `kGroup` submits in one step, each with an environment that nobody or everybody has.
  void submit_group(bool distinct) {
    std::vector<Input> inputs;
    need(store_.begin());
    for (int i = 0; i < kGroup; ++i) inputs.push_back(submit(distinct));
    need(store_.add_inputs(++entry_, kStart, encode_inputs(inputs)));
    need(store_.commit());
    need(store_.begin());
    need(store_.add_decisions(entry_, decisions_));
    need(store_.commit());
  }

 private:
  Submitted submit(bool distinct) {
    const std::uint64_t id = ++job_;
    std::string environment(kEnvironment, 'e');
    if (distinct) environment.replace(100, 20, std::to_string(id * 0x9E3779B97F4A7C15U));
    const BlobId blob = need(store_.add_blob(environment));
    JobRow row{.job = JobId(id), .spec = small_spec(blob), .submitted = kStart};
    row.name = "train";
    row.command = "python train.py --epochs 10";
    need(store_.add_job(row));
    return {.job = row.job, .spec = row.spec};
  }

  Folder folder_;
  Store store_;
  std::int64_t entry_ = 0;
  std::uint64_t job_ = 0;
  std::string inputs_ =
      encode_inputs(std::vector<Input>{Submitted{.job = JobId(1), .spec = small_spec()}});
  std::string decisions_ = encode_decisions(
      std::vector<Decision>{Start{.job = JobId(1), .placement = {.gpus = {GpuId(3)}}}});
};

void disk_wait(benchmark::State& state) {
  const Folder folder;
  const int file = open((folder / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  for (auto _ : state) {
    if (pwrite(file, page.data(), page.size(), 0) < 0 || fdatasync(file) != 0) std::abort();
  }
  close(file);
}
BENCHMARK(disk_wait)->Unit(benchmark::kMicrosecond)->UseRealTime();

void small_step(benchmark::State& state) {
  Bed bed;
  for (auto _ : state) bed.step_in_one();
}
BENCHMARK(small_step)->Unit(benchmark::kMicrosecond)->UseRealTime();

void small_step_in_two_commits(benchmark::State& state) {
  Bed bed;
  for (auto _ : state) bed.step_in_two();
}
BENCHMARK(small_step_in_two_commits)->Unit(benchmark::kMicrosecond)->UseRealTime();

void submits(benchmark::State& state, bool distinct) {
  Bed bed;
  double worst = 0;
  for (auto _ : state) {
    const auto from = std::chrono::steady_clock::now();
    bed.submit_group(distinct);
    need(bed.store().sync());
    need(bed.store().checkpoint());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    worst = std::max(worst, took.count());
  }
  state.SetItemsProcessed(state.iterations() * kGroup);
  state.counters["worst_ms"] = worst;
}
BENCHMARK_CAPTURE(submits, distinct_environments, true)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(submits, equal_environments, false)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// The writer alone is timed; `worst_ms` is its longest stall.
void submits_beside_syncs(benchmark::State& state) {
  Bed bed;
  std::atomic<bool> over = false;
  std::thread syncer([&] {
    while (!over) {
      need(bed.store().sync());
      need(bed.store().checkpoint());
      std::this_thread::yield();
    }
  });
  double worst = 0;
  for (auto _ : state) {
    const auto from = std::chrono::steady_clock::now();
    bed.submit_group(true);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    worst = std::max(worst, took.count());
  }
  over = true;
  syncer.join();
  state.SetItemsProcessed(state.iterations() * kGroup);
  state.counters["worst_ms"] = worst;
}
BENCHMARK(submits_beside_syncs)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace berth::journal
