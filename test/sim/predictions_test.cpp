// Goal: predicted starts are what `berth why` would have said at submission, how far off they were
// and how many started within their intervals is counted as defined.
// Method: one GPU and a handful of jobs, worked out by hand.
#include "sim/predictions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

trace::TraceJob job(int submit, int run) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(1);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

/// A wall until 1000 s; behind it a long job, and then a short one.
class PredictionsTest : public testing::Test {
 protected:
  PredictionsTest() { trace_.jobs = {job(0, 1000), job(10, 400), job(20, 50)}; }

  PredictionFigures run(const char* policy, Options options = {}) {
    options.predictions = 100;
    options.again = [=] { return *make_policy(policy, ""); };
    result_ = *simulate(trace_, *trace::parse_cluster("1x1"), options.again(), options);
    return *measure(trace_, *trace::parse_cluster("1x1"), result_).predictions;
  }

  trace::Trace trace_;
  Result result_;
};

TEST_F(PredictionsTest, AreExactWhereNothingThatComesLaterMatters) {
  const PredictionFigures figures = run("fifo");
  EXPECT_EQ(figures.asked, 3U);
  EXPECT_EQ(figures.at_once, 1U);
  EXPECT_EQ(figures.predicted, 2U);
  EXPECT_EQ(figures.off.max, 0);
  EXPECT_EQ(*result_.predictions->waited[1].start, kStart + seconds(1400));
}

TEST_F(PredictionsTest, AreTooEarlyWhereWhoComesLaterGoesFirst) {
  const PredictionFigures figures = run("sjf");
  EXPECT_EQ(*result_.predictions->waited[0].start, kStart + seconds(1000));
  EXPECT_EQ(result_.jobs[1].start, kStart + seconds(1050));
  EXPECT_DOUBLE_EQ(figures.off.mean, 25);
  EXPECT_DOUBLE_EQ(figures.off.p90, 45);
  EXPECT_DOUBLE_EQ(figures.bias, -25);
  EXPECT_DOUBLE_EQ(figures.off_over_wait, 50.0 / (1040 + 980));
  EXPECT_DOUBLE_EQ(figures.relative.mean, 50.0 / 1040 / 2) << "the short one comes as predicted";
  EXPECT_DOUBLE_EQ(to_json(figures).at("relative_error").at("p90"), 0.9 * 50 / 1040);
  EXPECT_THAT(to_text(figures), HasSubstr("on average 25 s too early"));
  EXPECT_DOUBLE_EQ(to_json(figures).at("predicted_share"), 1);
}

TEST(PredictionFiguresTest, AWaitOfLessThanAMinuteCountsAsOne) {
  const Instant at = kStart + seconds(10);
  const Predictions all{.asked = 3,
                        .waited = {{.job = 0, .at = at, .start = at + seconds(30)},
                                   {.job = 1, .at = at, .start = at},
                                   {.job = 2, .at = at, .start = at + seconds(360)}}};
  const auto starts = std::to_array({at + seconds(6), at, at + seconds(120)});
  const PredictionFigures figures =
      prediction_figures(all, [&](std::size_t job) { return starts[job]; });
  EXPECT_DOUBLE_EQ(figures.relative.mean, (24.0 / 60 + 0 + 2) / 3);
  EXPECT_DOUBLE_EQ(figures.relative.median, 0.4);
  EXPECT_DOUBLE_EQ(figures.relative.max, 2);
}

/// Of a job: when it was predicted to start and did, in seconds.
struct AskedFor {
  int start;
  int actual;
};

/// Asked ten minutes apart: each has started before the next one is asked.
std::pair<Predictions, std::vector<Instant>> of_asked(std::span<const AskedFor> jobs) {
  Predictions all{.asked = jobs.size()};
  std::vector<Instant> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Instant at = kStart + minutes(static_cast<std::int64_t>(10 * i));
    all.waited.push_back({.job = i, .at = at, .start = at + seconds(jobs[i].start)});
    starts.push_back(at + seconds(jobs[i].actual));
  }
  return {std::move(all), std::move(starts)};
}

TEST(Intervals, AreOfWhatWasKnownThen) {
  const std::vector<AskedFor> jobs(25, {.start = 100, .actual = 150});
  const auto [all, starts] = of_asked(jobs);
  const auto intervals = intervals_of(all, [&](std::size_t job) { return starts[job]; });
  ASSERT_EQ(intervals.size(), 25U);
  EXPECT_EQ(intervals[19]->from, ErrorSource::Prior);
  EXPECT_EQ(intervals[19]->by, all.waited[19].at + seconds(250));
  EXPECT_EQ(intervals[20]->from, ErrorSource::PastPredictions);
  EXPECT_EQ(intervals[20]->by, starts[20]);
}

TEST(Intervals, AreJudgedByTheStartsThatCame) {
  std::vector<AskedFor> jobs(20, {.start = 100, .actual = 100});
  jobs.insert(jobs.end(), {{.start = 100, .actual = 99}, {.start = 100, .actual = 260}});
  auto [all, starts] = of_asked(jobs);
  all.waited[0].is_bound = all.waited[1].is_bound = true;
  starts[1] += seconds(1);
  starts.push_back(kNever);
  all.waited.push_back({.job = 22, .at = starts[21], .start = starts[21]});
  const PredictionFigures figures =
      prediction_figures(all, [&](std::size_t job) { return starts[job]; });
  const Calibration& found = figures.calibration;
  EXPECT_EQ(found.intervals, 20U) << "two are bounds, one never started";
  EXPECT_EQ(found.from_prior, 20U);
  EXPECT_EQ(found.by_half, 19U);
  EXPECT_EQ(found.by_ninety, 19U);
  EXPECT_DOUBLE_EQ(found.width.median, 150);
  EXPECT_EQ(found.bounds, 2U);
  EXPECT_EQ(found.kept, 1U);
  EXPECT_DOUBLE_EQ(to_json(figures).at("calibration").at("started_by_ninety"), 0.95);
  EXPECT_THAT(to_text(figures),
              AllOf(HasSubstr("started by the 50 % time: 95.0 %, by the 90 % time: 95.0 % of 20 "
                              "intervals (20 from the prior); between the two median 150 s\n"),
                    HasSubstr("started by their bounds: 1 of 2\n")));
}

TEST_F(PredictionsTest, ThereIsNoneWhereNobodyKnowsWhenJobsEnd) {
  for (trace::TraceJob& job : trace_.jobs) job.spec.duration_class = DurationClass::Service;
  const PredictionFigures figures = run("fifo", {.told = Told::AsStated});
  EXPECT_EQ(figures.predicted, 0U);
  EXPECT_EQ(figures.unknown, 2U);
  EXPECT_THAT(to_text(figures), HasSubstr("0 of the 2 others predicted (0.0 %)"));
}

TEST_F(PredictionsTest, ChangeNothing) {
  run("srtf");
  const auto alone = simulate(trace_, *trace::parse_cluster("1x1"), *make_policy("srtf", ""));
  EXPECT_FALSE(alone->predictions);
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    EXPECT_EQ(alone->jobs[i].end, result_.jobs[i].end);
  }
  EXPECT_EQ(alone->steps, result_.steps);
}

TEST(Predictions, AreSpreadEvenly) {
  std::string asked;
  for (std::size_t i = 0; i < 10; ++i) asked += is_asked(i, 10, 3) ? 'x' : '.';
  EXPECT_EQ(asked, "...x..x..x");
  std::size_t of_philly = 0;
  for (std::size_t i = 0; i < 82'247; ++i) of_philly += is_asked(i, 82'247, 200) ? 1 : 0;
  EXPECT_EQ(of_philly, 200U);
  EXPECT_TRUE(is_asked(1, 2, 5));
  EXPECT_FALSE(is_asked(1, 2, 0));
}

}  // namespace
}  // namespace berth::sim
