// Muri-L without its matching against the simulator of Muri (Zhao et al., SIGCOMM 2022).
//
// Source: oracles/muri, runs of Rivendile/Muri, commit 4e69a78ce7, schedule
// multi-resource-gpu-unaware, on its traces: 8 nodes of 8 GPUs, 6,454 jobs in all. Method: its
// clock and its overheads here; which jobs share GPUs is the rule in muri_rule.hpp, and how long
// their iterations take then is what `--share stages` says. The first start and the end of every
// job must be equal to a thousandth of a second, less than 1e-9 of the longest. Skipped without
// the files. Passes of our own were worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "paper/rows.hpp"
#include "paper/muri_rule.hpp"
#include "sim/share/stages.hpp"

namespace berth::test {
namespace {

using sim::iteration_together;
using sim::StageTimes;

constexpr std::int64_t kMuriNode = 8;  ///< GPUs, and nodes.
constexpr double kMuriNever = std::numeric_limits<double>::infinity();

/// Seconds that a running job loses between two events, by GPUs: 1, 2, 4 and so on.
double muri_overhead(const std::string& model, std::int64_t gpus) {
  static const std::map<std::string, std::array<double, 6>> kOverheads = {
      {"vgg16", {7, 7, 8, 9, 9, 10}},     {"vgg19", {7, 7, 8, 9, 10, 10}},
      {"resnet18", {4, 5, 5, 7, 7, 7}},   {"shufflenet_v2_x1_0", {4, 4, 5, 5, 7, 8}},
      {"bert", {10, 10, 10, 10, 10, 10}}, {"gpt2", {10, 10, 10, 10, 10, 10}},
      {"a2c", {38, 39, 39, 46, 46, 46}},  {"dqn", {5, 5, 6, 6, 8, 8}}};
  std::size_t column = 0;
  while ((std::int64_t{1} << column) < gpus) ++column;
  return kOverheads.at(model).at(column);
}

struct MuriOracleJob {
  std::string id;
  std::int64_t gpus = 1;
  double submitted = 0;
  StageTimes times = {};
  double overhead = 0;
  double left = 0;  ///< Iterations.

  double ran = 0;        ///< Seconds.
  double iteration = 0;  ///< In seconds, as it runs now; 0: it waits.
  double lost = 0;       ///< Seconds at each event.
  double start = -1;
  double end = kMuriNever;
};

std::vector<MuriOracleJob> muri_jobs(const std::filesystem::path& file) {
  std::vector<MuriOracleJob> jobs;
  for (Rows rows(file); rows.next();) {
    MuriOracleJob job{.id = rows.text("job_id"), .gpus = rows.whole("num_gpu")};
    job.submitted = rows.number("submit_time") / 1000;
    job.left = rows.number("iterations");
    job.times.alone = rows.number("iteration_time") * 1.015 / 1000;
    job.times.stages = {rows.number("resource_time_0") / 1000,
                        rows.number("resource_time_1") / 1000,
                        rows.number("resource_time_2") / 1000};
    job.overhead = muri_overhead(rows.text("model_name"), job.gpus);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Nodes, the first with enough room; a job of more GPUs has whole nodes first.
class MuriNodes {
 public:
  bool operator()(std::int64_t gpus) {
    auto free = free_;
    std::int64_t whole = gpus > kMuriNode ? gpus / kMuriNode : 0;
    std::int64_t rest = gpus - whole * kMuriNode;
    for (std::int64_t& node : free) {
      if (whole > 0 && node == kMuriNode) {
        node = 0;
        --whole;
      }
    }
    if (rest > 0) {
      const auto found =
          std::ranges::find_if(free, [&](std::int64_t node) { return node >= rest; });
      if (found != free.end()) {
        *found -= rest;
        rest = 0;
      }
    }
    if (whole > 0 || rest > 0) return false;
    free_ = free;
    return true;
  }

 private:
  std::array<std::int64_t, kMuriNode> free_ = {8, 8, 8, 8, 8, 8, 8, 8};
};

/// Whether these jobs take no longer for an iteration each than one after the other.
bool muri_pays(const MuriGroup& group, std::span<const StageTimes> times) {
  std::vector<StageTimes> together;
  double one_by_one = 0;
  for (const std::size_t job : group) {
    together.push_back(times[job]);
    one_by_one += times[job].alone;
  }
  return iteration_together(together, sim::kUnmatchedStages) <= one_by_one;
}

class MuriRun {
 public:
  explicit MuriRun(std::vector<MuriOracleJob> jobs) : jobs_(std::move(jobs)) {}

  const std::vector<MuriOracleJob>& finish() {
    while (next_ < jobs_.size() || !list_.empty()) {
      const double arrival = next_ < jobs_.size() ? jobs_[next_].submitted : kMuriNever;
      const double end = earliest_end();
      constexpr double kAtOnce = 1e-4;
      const double now = arrival < end + kAtOnce ? arrival : end;
      account(now);
      if (end < arrival + kAtOnce) finish_at(end, now);
      while (next_ < jobs_.size() && jobs_[next_].submitted == now) list_.push_back(next_++);
      decide();
    }
    return jobs_;
  }

 private:
  double end_of(const MuriOracleJob& job) const {
    return job.iteration > 0 ? now_ + job.left * job.iteration : kMuriNever;
  }
  double earliest_end() const {
    double earliest = kMuriNever;
    for (const std::size_t job : list_) earliest = std::min(earliest, end_of(jobs_[job]));
    return earliest;
  }
  void account(double now) {
    ends_.assign(jobs_.size(), kMuriNever);
    for (const std::size_t index : list_) {
      MuriOracleJob& job = jobs_[index];
      ends_[index] = end_of(job);
      if (job.iteration == 0) continue;
      job.ran += now - now_;
      job.left -= std::max(now - now_ - job.lost, 0.) / job.iteration;
    }
    now_ = now;
  }
  void finish_at(double end, double now) {
    std::erase_if(list_, [&](std::size_t job) {
      if (ends_[job] != end) return false;
      jobs_[job].end = now;
      return true;
    });
  }
  void decide() {
    std::vector<MuriJob> asked;
    std::vector<StageTimes> times;
    for (const std::size_t index : list_) {
      const MuriOracleJob& job = jobs_[index];
      asked.push_back({.gpus = job.gpus, .key = std::llround(job.ran * 1e6) * job.gpus});
      times.push_back(job.times);
      jobs_[index].iteration = 0;
    }
    const auto empty = [&] {
      return [&, nodes = MuriNodes()](std::size_t job) mutable { return nodes(asked[job].gpus); };
    };
    const auto pays = [&](const MuriGroup& group) { return muri_pays(group, times); };
    const auto groups =
        muri_groups(asked, {.capacity = kMuriNode * kMuriNode, .empty = empty, .pays = pays});
    MuriNodes nodes;
    for (const MuriGroup& group : groups) {
      if (nodes(asked[group[0]].gpus)) run(group);
    }
    std::vector<std::size_t> list;
    for (const std::size_t place : muri_order(asked)) list.push_back(list_[place]);
    list_ = std::move(list);
  }
  void run(const MuriGroup& group) {
    std::vector<StageTimes> times;
    double lost = 0;
    for (const std::size_t place : group) {
      times.push_back(jobs_[list_[place]].times);
      lost += jobs_[list_[place]].overhead;
    }
    for (const std::size_t place : group) {
      MuriOracleJob& job = jobs_[list_[place]];
      job.iteration = iteration_together(times, sim::kUnmatchedStages);
      job.lost = lost;
      if (job.start < 0) job.start = now_;
    }
  }

  std::vector<MuriOracleJob> jobs_;
  std::vector<std::size_t> list_;
  std::vector<double> ends_;
  std::size_t next_ = 0;
  double now_ = 0;
};

struct MuriTrace {
  const char* name;
  std::size_t jobs;
};

class MuriOracle : public testing::TestWithParam<MuriTrace> {};

TEST_P(MuriOracle, EachJobStartsAndEndsAsThere) {
  const std::string name = GetParam().name;
  const auto trace = std::filesystem::path("traces/muri/simulator") / (name + ".csv.gz");
  const auto theirs = std::filesystem::path("oracles/muri") / ("jobs_" + name + ".csv.gz");
  for (const auto& file : {trace, theirs}) {
    if (const auto absent = absent_shared(file)) GTEST_SKIP() << *absent;
  }
  MuriRun run(muri_jobs(trace));
  std::map<std::string, const MuriOracleJob*> ours;
  for (const MuriOracleJob& job : run.finish()) ours[job.id] = &job;
  std::size_t equal = 0;
  for (Rows rows(theirs); rows.next();) {
    const MuriOracleJob& job = *ours.at(rows.text("job_id"));
    constexpr double kClose = 1e-3;
    const bool same = std::abs(job.start - rows.number("start_muri_l_noblossom")) < kClose &&
                      std::abs(job.end - rows.number("end_muri_l_noblossom")) < kClose;
    equal += same ? 1 : 0;
  }
  EXPECT_EQ(ours.size(), GetParam().jobs);
  EXPECT_EQ(equal, GetParam().jobs);
}

INSTANTIATE_TEST_SUITE_P(Traces, MuriOracle,
                         testing::Values(MuriTrace{"trace1", 1494}, MuriTrace{"trace3", 992},
                                         MuriTrace{"trace3_pr", 992}, MuriTrace{"job_type_1", 992},
                                         MuriTrace{"job_type_2", 992},
                                         MuriTrace{"job_type_3", 992}),
                         [](const auto& run) { return std::string(run.param.name); });

// ---- Worked out by hand ----

/// Two GPUs, and jobs of one each that all have three stages of this length.
std::vector<MuriGroup> muri_pass(std::size_t jobs, double stage) {
  std::vector<MuriJob> asked;
  for (std::size_t job = 0; job < jobs; ++job) {
    asked.push_back({.key = static_cast<std::int64_t>(job)});
  }
  const std::vector<StageTimes> times(jobs, {.alone = 1, .stages = {stage, stage, stage}});
  return muri_groups(
      asked, {.capacity = 2,
              .empty = [] { return [free = 2](std::size_t) mutable { return free-- > 0; }; },
              .pays = [&](const MuriGroup& group) { return muri_pays(group, times); }});
}

TEST(Muri, JobsShareWhileThereAreTooManyOfThem) {
  using Groups = std::vector<MuriGroup>;
  EXPECT_EQ(muri_pass(2, 0.3), (Groups{{0}, {1}}));
  EXPECT_EQ(muri_pass(4, 0.3), (Groups{{0, 1, 2}, {3}})) << "two GPUs are enough for two groups";
  EXPECT_EQ(muri_pass(6, 0.3), (Groups{{0, 1, 2, 3}, {4, 5}}));
  EXPECT_EQ(muri_pass(9, 0.3), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}})) << "the ninth waits";
  EXPECT_EQ(muri_pass(6, 1.0), (Groups{{0}, {1}})) << "together they are slower than in turn";
}

TEST(Muri, AnIterationIsARoundOfStages) {
  const StageTimes job{.alone = 1, .stages = {0.3, 0.3, 0.3}};
  const std::vector<StageTimes> four(4, job);
  EXPECT_EQ(iteration_together(std::span(four).first(1), sim::kUnmatchedStages), 1);
  // Two have three steps to a round, since no stage of either can go beside its own next.
  EXPECT_NEAR(iteration_together(std::span(four).first(2), sim::kUnmatchedStages),
              0.9 * 1.33 / 1.015, 1e-9);
  EXPECT_NEAR(iteration_together(four, sim::kUnmatchedStages), 1.2 * 1.3 / 1.015, 1e-9);
  EXPECT_NEAR(iteration_together(four, sim::kMatchedStages), 1.2 * 1.37 / 1.015, 1e-9);
}

TEST(Muri, TheListIsInTheOrderOfGpusThenKeys) {
  const std::vector<MuriJob> jobs = {
      {.gpus = 1, .key = 5}, {.gpus = 2, .key = 9}, {.gpus = 1, .key = 3}, {.gpus = 2, .key = 9}};
  EXPECT_EQ(muri_order(jobs), (std::vector<std::size_t>{1, 3, 2, 0}));
}

}  // namespace
}  // namespace berth::test
