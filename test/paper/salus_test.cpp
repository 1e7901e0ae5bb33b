// The lanes of Salus (Yu and Chowdhury, MLSys 2020), and its gain by switching between iterations.
//
// Source: oracles/salus, its lane manager (SymbioticLab/Salus, commit 7b7f5e0651) on operations of
// our own, 500 to a run: with lanes on one GPU and on three, and with one lane of all of a GPU.
// Method: in the released code a lane is as large as its first job and never grows, so no job with
// persistent memory ever joins another. Its lanes are jobs that ask for persistent and ephemeral
// memory together, and this is `fifo-skip@first-fit`: each line must be the same, with admission
// without a guard band. The single lane is a rule of this test alone, because berth has no
// ephemeral memory: the sum of persistent memory and the largest ephemeral one must fit. Skipped
// without the files.
//
// The gain: its 99 workloads on one GPU under `fifo` and `srtf`, in the simulator of berth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/trial.hpp"
#include "paper/rows.hpp"
#include "policy/policies.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"
#include "sim/simulator.hpp"
#include "sim/spread.hpp"

namespace berth::test {
namespace {

constexpr std::int64_t kSalusUnit = std::int64_t{1} << 20;  ///< Bytes.

struct SalusJob {
  std::string name;
  std::int64_t persistent = 0;
  std::int64_t ephemeral = 0;
};

struct SalusGrant {
  int lane = 0;
  std::int64_t size = 0;
  std::int64_t free = 0;
};

/// Where jobs get memory.
class SalusMachine {
 public:
  virtual ~SalusMachine() = default;
  virtual std::optional<SalusGrant> take(const SalusJob& job) = 0;
  virtual void release(const SalusJob& job) = 0;
};

/// Placement `first-fit` and admission, for jobs that ask for all their memory.
class SalusByFirstFit final : public SalusMachine {
 public:
  explicit SalusByFirstFit(const std::vector<std::int64_t>& gpus)
      : cluster_(cluster_of(gpus)),
        scratch_{Occupancy(cluster_, {.guard_floor = Bytes(0), .guard_ppm = 0}), {}},
        trial_(cluster_, scratch_),
        placer_(first_fit({})) {}

  std::optional<SalusGrant> take(const SalusJob& job) override {
    Ask ask;
    const std::int64_t size = job.persistent + job.ephemeral;
    ask.request.gpu = {.count = GpuCount(1), .vram = Bytes(size * kSalusUnit)};
    const Placed place = placer_->place(ask, JobId(1), trial_);
    if (!place) return std::nullopt;
    grants_[job.name] = trial_.put(ask, *place);
    return SalusGrant{.lane = ++lanes_, .size = size, .free = job.ephemeral};
  }
  void release(const SalusJob& job) override { trial_.take(grants_.extract(job.name).mapped()); }

 private:
  static Cluster cluster_of(const std::vector<std::int64_t>& gpus) {
    Cluster cluster;
    cluster.add_switch();
    for (const std::int64_t memory : gpus) {
      constexpr std::uint16_t kManySlots = 500;
      cluster.add_node(
          {.name = "n", .gpus = 1, .vram = Bytes(memory * kSalusUnit), .slots = kManySlots});
    }
    return cluster;
  }

  Cluster cluster_;
  Scratch scratch_;
  Trial trial_;
  std::unique_ptr<Placer> placer_;
  std::map<std::string, Grant> grants_;
  int lanes_ = 0;
};

/// One lane of all the memory of the first GPU.
class SalusOneLane final : public SalusMachine {
 public:
  explicit SalusOneLane(std::int64_t memory) : memory_(memory) {}

  std::optional<SalusGrant> take(const SalusJob& job) override {
    std::int64_t persistent = job.persistent;
    std::int64_t ephemeral = job.ephemeral;
    for (const auto& [name, other] : jobs_) {
      persistent += other.persistent;
      ephemeral = std::max(ephemeral, other.ephemeral);
    }
    if (persistent + ephemeral > memory_) return std::nullopt;
    jobs_[job.name] = job;
    return SalusGrant{.lane = 1, .size = memory_, .free = memory_ - persistent};
  }
  void release(const SalusJob& job) override { jobs_.erase(job.name); }

 private:
  std::int64_t memory_;
  std::map<std::string, SalusJob> jobs_;
};

/// The lines that these operations give: those that wait are tried in their order, after each job
/// that comes or goes.
std::string salus_lines(const std::string& operations) {
  std::istringstream in(operations);
  std::ostringstream out;
  std::vector<std::int64_t> gpus;
  bool is_one_lane = false;
  std::unique_ptr<SalusMachine> machine;
  std::list<SalusJob> waiting;
  std::map<std::string, SalusJob> running;
  const auto serve = [&] {
    waiting.remove_if([&](const SalusJob& job) {
      const auto grant = machine->take(job);
      if (!grant) return false;
      out << job.name << " lane " << grant->lane << " size " << grant->size << " free "
          << grant->free << '\n';
      running[job.name] = job;
      return true;
    });
  };
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string what;
    SalusJob job;
    words >> what >> job.name >> job.persistent >> job.ephemeral;
    if (what == "gpu") gpus.push_back(std::stoll(job.name));
    if (what == "one") is_one_lane = job.name == "1";
    if (what != "add" && what != "del") continue;
    if (machine == nullptr && is_one_lane) machine = std::make_unique<SalusOneLane>(gpus.at(0));
    if (machine == nullptr) machine = std::make_unique<SalusByFirstFit>(gpus);
    out << "op " << what << ' ' << job.name << '\n';
    if (what == "add") {
      waiting.push_back(job);
    } else {
      machine->release(running.extract(job.name).mapped());
    }
    serve();
  }
  return out.str();
}

struct SalusRun {
  const char* name;
  int lines;
};

class SalusOracle : public testing::TestWithParam<SalusRun> {};

TEST_P(SalusOracle, GivesEachLine) {
  const std::string name = std::string("oracles/salus/") + GetParam().name;
  for (const char* end : {".ops.gz", ".out.gz"}) {
    if (const auto absent = absent_shared(name + end)) GTEST_SKIP() << *absent;
  }
  const auto text = [&](const char* end) {
    return *trace::unpacked(read_file(shared_dir() / (name + end)), name);
  };
  std::istringstream ours(salus_lines(text(".ops.gz")));
  std::istringstream theirs(text(".out.gz"));
  int number = 0;
  std::string own;
  for (std::string line; std::getline(theirs, line);) {
    ++number;
    ASSERT_TRUE(std::getline(ours, own)) << "line " << number << " is missing: " << line;
    ASSERT_EQ(own, line) << "line " << number;
  }
  EXPECT_FALSE(std::getline(ours, own)) << own;
  EXPECT_EQ(number, GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(Runs, SalusOracle,
                         testing::Values(SalusRun{"lanes_a", 728}, SalusRun{"lanes_c", 744},
                                         SalusRun{"lanes_d", 747}),
                         [](const auto& run) { return std::string(run.param.name); });

TEST(Salus, GivesWhatWasWorkedOutByHand) {
  // y has no room beside x, and z passes it; b opens a lane on the second GPU.
  EXPECT_EQ(salus_lines("gpu 100\ngpu 50\nadd x 10 70\nadd y 10 80\nadd z 5 10\nadd b 1 40\n"
                        "del x\ndel z\n"),
            "op add x\nx lane 1 size 80 free 70\nop add y\n"
            "op add z\nz lane 2 size 15 free 10\nop add b\nb lane 3 size 41 free 40\n"
            "op del x\nop del z\ny lane 4 size 90 free 80\n");
  // One lane: 10 + 20 of persistent memory and 70 of ephemeral memory are all there is.
  EXPECT_EQ(salus_lines("gpu 100\none 1\nadd x 10 70\nadd y 20 60\nadd z 1 1\ndel x\n"),
            "op add x\nx lane 1 size 100 free 90\nop add y\ny lane 1 size 100 free 70\n"
            "op add z\nop del x\nz lane 1 size 100 free 79\n");
}

// ---- Its workloads ----

/// Each once, in the order of the file, all at once.
trace::Trace salus_workloads() {
  trace::Trace trace;
  for (Rows rows("oracles/salus/workloads.csv"); rows.next();) {
    trace::TraceJob job{.name = rows.text("workload"),
                        .submit = kStart,
                        .duration = Duration(std::llround(rows.number("seconds_alone") * 1e6)),
                        .spec = {.user = UserId(1)}};
    job.spec.request.gpu.count = GpuCount(1);
    job.spec.request.gpu.sharing = Sharing::Alone;
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

/// In a random order, by a Poisson process.
trace::Trace salus_arrivals(trace::Trace trace, Duration apart, std::uint64_t seed) {
  Rng rng(seed, 0);
  for (std::size_t i = trace.jobs.size() - 1; i > 0; --i) {
    const auto other = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(i)));
    std::swap(trace.jobs[i], trace.jobs[other]);
  }
  Instant at = kStart;
  for (trace::TraceJob& job : trace.jobs) {
    job.submit = at;
    constexpr std::int64_t kMillion = 1'000'000;
    const double part = static_cast<double>(rng.between(1, kMillion)) / kMillion;
    at += Duration(std::llround(-std::log(part) * static_cast<double>(micros(apart))));
  }
  return trace;
}

/// The sum of completion times, in seconds.
double salus_sum(const trace::Trace& trace, const char* policy) {
  const auto result = sim::simulate(trace, uniform(1, 1), *make_policy(policy, ""), {});
  EXPECT_TRUE(result.has_value());
  double sum = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    sum += sim::in_seconds(result->jobs[i].end - trace.jobs[i].submit);
  }
  return sum;
}

/// How many times as long jobs take under `fifo` as under `srtf`, in all these runs.
double salus_gain(const std::vector<trace::Trace>& traces) {
  double fifo = 0;
  double srtf = 0;
  for (const trace::Trace& trace : traces) {
    fifo += salus_sum(trace, "fifo");
    srtf += salus_sum(trace, "srtf");
  }
  return fifo / srtf;
}

/// A mean gain of 3.19 is reported; when jobs came is not. Jobs that change places at no cost come
/// to about half of it, and all at once to 2.10 at most: in the order that is worst for `fifo`.
TEST(Salus, ItsGainOverFifoIsMissedByTheseArrivals) {
  if (const auto absent = absent_shared("oracles/salus/workloads.csv")) GTEST_SKIP() << *absent;
  const trace::Trace workloads = salus_workloads();
  ASSERT_EQ(workloads.jobs.size(), 99U);
  constexpr double kClose = 0.005;
  for (const auto& [apart, gain] : {std::pair(0, 1.540),
                                    {100, 1.686},
                                    {200, 1.740},
                                    {300, 1.664},
                                    {400, 1.417},
                                    {700, 1.155}}) {
    std::vector<trace::Trace> runs;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      runs.push_back(salus_arrivals(workloads, seconds(apart), seed));
    }
    EXPECT_NEAR(salus_gain(runs), gain, kClose) << apart << " s apart";
  }
  trace::Trace longest_first = workloads;
  std::ranges::stable_sort(longest_first.jobs, std::greater(), &trace::TraceJob::duration);
  EXPECT_NEAR(salus_gain({longest_first}), 2.100, kClose);
}

}  // namespace
}  // namespace berth::test
