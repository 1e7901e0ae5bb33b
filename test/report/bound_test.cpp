// Goal: no schedule is below the bound, and where the optimum is known the bound reaches it.
// Method: cases worked out by hand; every registered policy on random small traces; the best of all
// schedules of tiny ones, found by trying each.
#include "report/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "property/registered.hpp"
#include "report/metrics.hpp"
#include "report/whole_job.hpp"

namespace berth::sim {
namespace {

using namespace literals;

trace::TraceJob sharing(trace::TraceJob one, Bytes vram, std::int64_t milli = 0) {
  one.spec.request.gpu.sharing = Sharing::Shared;
  one.spec.request.gpu.vram = vram;
  one.spec.request.gpu.milli = GpuMilli(milli);
  return one;
}

Cluster cluster_of(std::uint32_t nodes, std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  for (std::uint32_t i = 0; i < nodes; ++i) {
    cluster.add_node({.name = "n" + std::to_string(i), .gpus = gpus, .vram = 16_GiB});
  }
  return cluster;
}

/// As if every job had ended.
Bound bound_of(const trace::Trace& trace, const Cluster& cluster, const Options& options = {}) {
  Result result;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    result.jobs.push_back({.job = i, .start = kStart, .end = kStart});
  }
  return Bounds(trace, cluster, options).of(result).value();
}

void sort_by_submission(trace::Trace& trace) {
  std::ranges::stable_sort(trace.jobs, {}, &trace::TraceJob::submit);
}

TEST(BoundTest, OneJobTakesItsRunTime) {
  trace::Trace trace;
  trace.jobs = {whole_job(5, 100, 2)};
  const Bound bound = bound_of(trace, cluster_of(1, 4));
  EXPECT_EQ(bound.jobs, 1U);
  EXPECT_DOUBLE_EQ(bound.jct, 100);
  EXPECT_DOUBLE_EQ(*bound.wait, 0);
}

TEST(BoundTest, WaitsHaveNoneWhereTheRunMayHaveLostWork) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1)};
  const Cluster cluster = cluster_of(1, 1);
  const Options options;  // as of a trace with curves of memory, which are simulated unasked
  Result result{.jobs = {{.job = 0, .end = kStart + seconds(100)}}, .is_perfect = false};
  const auto bound = Bounds(trace, cluster, options).of(result);
  EXPECT_DOUBLE_EQ(bound->jct, 100);
  EXPECT_FALSE(bound->wait);
}

TEST(BoundTest, OnOneGpuShortestRemainingTimeFirstReachesIt) {
  Rng rng(3);
  const Cluster cluster = cluster_of(1, 1);
  for (int round = 0; round < 200; ++round) {
    trace::Trace trace;
    for (int i = 0; i < 8; ++i)
      trace.jobs.push_back(whole_job(rng.between(0, 60), rng.between(1, 30), 1));
    sort_by_submission(trace);
    const Options options;
    const auto result = simulate(trace, cluster, *make_policy("srtf", "first-fit"), options);
    const Metrics metrics = measure(trace, cluster, *result);
    const auto bound = Bounds(trace, cluster, options).of(*result);
    ASSERT_NEAR(bound->jct, metrics.jct.mean, 1e-6);
    ASSERT_NEAR(*bound->wait, metrics.wait.mean, 1e-6);
  }
}

TEST(BoundTest, EqualJobsThatComeAtOnceReachIt) {
  trace::Trace trace;
  for (int i = 0; i < 12; ++i) trace.jobs.push_back(whole_job(0, 100, 1));
  EXPECT_DOUBLE_EQ(bound_of(trace, cluster_of(1, 4)).jct, (100 + 200 + 300) / 3.0);
  for (trace::TraceJob& one : trace.jobs) one.spec.request.gpu.count = GpuCount(2);
  EXPECT_DOUBLE_EQ(bound_of(trace, cluster_of(1, 8)).jct, (100 + 200 + 300) / 3.0);
}

TEST(BoundTest, AQuietTimeDoesNotHideABusyOne) {
  trace::Trace trace;  // 4 jobs for 2 GPUs at once, and long after them jobs that never meet
  for (int i = 0; i < 4; ++i) trace.jobs.push_back(whole_job(0, 100, 1));
  for (int i = 1; i <= 4; ++i) trace.jobs.push_back(whole_job(i * 100'000, 10'000, 1));
  EXPECT_DOUBLE_EQ(bound_of(trace, cluster_of(1, 2)).jct, (2 * 100 + 2 * 200 + 4 * 10'000) / 8.0);
}

TEST(BoundTest, SharersTakeTheirSlotTheirComputeOrTheirMemory) {
  trace::Trace trace;
  const auto jct_of = [&](Bytes vram, std::int64_t milli, const Options& options = {}) {
    trace.jobs.assign(8, sharing(whole_job(0, 100, 1), vram, milli));
    return bound_of(trace, cluster_of(1, 1), options).jct;
  };
  EXPECT_DOUBLE_EQ(jct_of(1_GiB, 0), 150) << "four at a time, because a GPU has four slots";
  EXPECT_DOUBLE_EQ(jct_of(8_GiB, 0), 250) << "two at a time";
  EXPECT_DOUBLE_EQ(jct_of(1_GiB, 500), 250) << "two at a time";
  Options options;
  options.settings.admission.mode = AdmissionMode::FreeMemory;
  EXPECT_DOUBLE_EQ(jct_of(8_GiB, 0, options), 150) << "memory may be granted twice";
  EXPECT_DOUBLE_EQ(jct_of(8_GiB, 500, options), 250) << "compute is not";
  options.settings.admission.mode = AdmissionMode::None;
  EXPECT_DOUBLE_EQ(jct_of(8_GiB, 500, options), 100) << "every job starts";
}

TEST(BoundTest, OnAFasterTypeOfGpuJobsMayBeFaster) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1)};
  trace.jobs[0].model = "a";
  Options options;
  options.rates.speeds.add_type("a", 1, "fast", Rate(2 * Rate::kWhole));
  options.rates.speeds.add_type("b", 1, "fast", Rate(4 * Rate::kWhole));
  options.rates.speeds.add_type("a", 1, "slow", Rate(Rate::kWhole / 2));
  const Bound bound = bound_of(trace, cluster_of(1, 1), options);
  EXPECT_DOUBLE_EQ(bound.jct, 50);
  EXPECT_FALSE(bound.wait) << "run times are not those alone";
}

TEST(BoundTest, OnlyJobsThatEndedAndAreMeasuredCount) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1), whole_job(0, 100, 1), whole_job(50, 100, 1),
                whole_job(60, 70, 9)};
  Result result;
  for (std::size_t i = 0; i < 4; ++i) {
    result.jobs.push_back({.job = i, .end = i == 3 ? kNever : kStart + seconds(1000)});
  }
  const Cluster cluster = cluster_of(1, 1);
  const Options options;
  Bounds bounds(trace, cluster, options);
  EXPECT_EQ(bounds.of(result)->jobs, 3U);
  EXPECT_DOUBLE_EQ(bounds.of(result)->jct, (100 + 200 + 250) / 3.0);
  result.measured = Window{kStart + seconds(50), kStart + seconds(60)};
  EXPECT_EQ(bounds.of(result)->jobs, 1U);
  EXPECT_DOUBLE_EQ(bounds.of(result)->jct, 100);
  result.measured = Window{kStart + seconds(70), kStart + seconds(80)};
  EXPECT_FALSE(bounds.of(result));
}

/// The least sum of ends, over all schedules that stop and start jobs at whole seconds.
class Best {
 public:
  Best(const trace::Trace& trace, std::int64_t gpus) : gpus_(gpus) {
    for (const trace::TraceJob& one : trace.jobs) {
      jobs_.push_back({micros(one.submit) / 1'000'000, one.spec.request.gpu.count.raw()});
      left_.push_back(micros(one.duration) / 1'000'000);
    }
  }

  std::int64_t sum() { return from(0, left_); }

 private:
  using Left = std::vector<std::int64_t>;

  std::int64_t from(std::int64_t now, const Left& left) {
    if (std::ranges::all_of(left, [](std::int64_t one) { return one == 0; })) return 0;
    const auto [known, is_new] = best_.try_emplace({now, left}, 0);
    if (!is_new) return known->second;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t set = 0; set < (1U << left.size()); ++set) {
      if (!is_possible(now, left, set)) continue;
      Left after = left;
      std::int64_t ended = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if ((set >> i & 1) != 0 && --after[i] == 0) ended += now + 1;
      }
      best = std::min(best, ended + from(now + 1, after));
    }
    return best_[{now, left}] = best;
  }
  /// To run these jobs for the next second; none only while none has come.
  bool is_possible(std::int64_t now, const Left& left, std::uint32_t set) const {
    std::int64_t taken = 0;
    bool has_come = false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const bool can_run = left[i] > 0 && jobs_[i].first <= now;
      has_come = has_come || can_run;
      if ((set >> i & 1) == 0) continue;
      if (!can_run) return false;
      taken += jobs_[i].second;
    }
    return taken <= gpus_ && (set != 0 || !has_come);
  }

  std::int64_t gpus_;
  std::vector<std::pair<std::int64_t, std::int64_t>> jobs_;  ///< Submission and GPUs.
  Left left_;
  std::map<std::pair<std::int64_t, Left>, std::int64_t> best_;
};

TEST(BoundTest, TheBestOfAllSchedulesIsNotBelowIt) {
  Rng rng(11);
  int reached = 0;
  for (int round = 0; round < 400; ++round) {
    const std::int64_t gpus = rng.between(1, 4);
    trace::Trace trace;
    const std::int64_t jobs = rng.between(1, 5);
    for (std::int64_t i = 0; i < jobs; ++i) {
      trace.jobs.push_back(whole_job(rng.between(0, 4), rng.between(1, 5), rng.between(1, gpus)));
    }
    sort_by_submission(trace);
    std::int64_t submitted = 0;
    for (const trace::TraceJob& one : trace.jobs) submitted += micros(one.submit) / 1'000'000;
    const double best = static_cast<double>(Best(trace, gpus).sum() - submitted) / double(jobs);
    const double bound = bound_of(trace, cluster_of(1, static_cast<std::uint32_t>(gpus))).jct;
    ASSERT_GE(best, bound - 1e-9) << "round " << round;
    reached += best < bound + 1e-9 ? 1 : 0;
  }
  EXPECT_GT(reached, 150) << "a bound that is never reached would show little";
}

class BoundOfEveryPolicy : public testing::TestWithParam<std::string> {};

TEST_P(BoundOfEveryPolicy, NoneIsBelowIt) {
  std::size_t ended = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const Cluster cluster = cluster_of(2, 2);
    const bool shares = seed % 2 == 0;
    trace::Trace trace;
    for (int i = 0; i < 20; ++i) {
      trace.jobs.push_back(whole_job(rng.between(0, 300), rng.between(1, 100), rng.between(1, 4)));
      trace.jobs.back().spec.user = UserId(static_cast<std::uint32_t>(rng.between(1, 3)));
      if (!shares || rng.one_in(3)) continue;
      trace.jobs.back() = sharing(trace.jobs.back(), Bytes((1_GiB).raw() * rng.between(1, 12)),
                                  rng.one_in(2) ? rng.between(1, 10) * 100 : 0);
    }
    sort_by_submission(trace);
    const Options options{.seed = seed};
    const auto result = simulate(trace, cluster, *make_policy(GetParam(), "first-fit"), options);
    ASSERT_TRUE(result) << result.error().message;
    const Metrics metrics = measure(trace, cluster, *result);
    const auto bound = Bounds(trace, cluster, options).of(*result);
    ended += metrics.jobs;
    ASSERT_TRUE(bound);
    ASSERT_EQ(bound->jobs, metrics.jobs);
    ASSERT_GE(metrics.jct.mean, bound->jct - 1e-6) << "seed " << seed;
    ASSERT_GE(metrics.wait.mean, *bound->wait - 1e-6) << "seed " << seed;
  }
  EXPECT_GT(ended, 0U);
}

INSTANTIATE_TEST_SUITE_P(Registered, BoundOfEveryPolicy,
                         testing::ValuesIn(test::registered_policies()), test::policy_test_name);

}  // namespace
}  // namespace berth::sim
