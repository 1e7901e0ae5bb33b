// Goal: what reports draw is what happened.
// Method: a run of three jobs on two GPUs, worked out by hand.
#include "report/series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/timeline.hpp"
#include "report/trade_offs.hpp"

namespace berth::sim {
namespace {

using testing::HasSubstr;

trace::TraceJob job(const char* name, int submit, int run, int gpus, std::uint32_t user) {
  trace::TraceJob job{.name = name,
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(user)}};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

/// `a` takes both GPUs for an hour; `b` and `c` wait for it and then run beside each other.
class SeriesTest : public testing::Test {
 protected:
  SeriesTest() {
    trace_.jobs = {job("a<b>", 0, 3600, 2, 1), job("b", 0, 3600, 1, 2), job("c", 1800, 1800, 1, 2)};
    result_ = *simulate(trace_, cluster_, *make_policy("fifo", "first-fit"), {.record = true});
  }
  double mean(const std::vector<Point>& points, std::size_t from, std::size_t to) const {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += points[i].y;
    return sum / static_cast<double>(to - from);
  }

  trace::Trace trace_;
  Cluster cluster_ = *trace::parse_cluster("1x2");
  Result result_;
};

TEST_F(SeriesTest, EveryStretchIsKept) {
  ASSERT_EQ(result_.stretches.size(), 3U);
  EXPECT_EQ(result_.stretches[0].gpus, (std::vector{GpuId(0), GpuId(1)}));
  EXPECT_EQ(result_.stretches[0].to, kStart + seconds(3600));
  EXPECT_EQ(result_.stretches[2].from, kStart + seconds(3600));
  EXPECT_EQ(result_.stretches[2].to, kStart + seconds(5400));
}

TEST_F(SeriesTest, IdleTimeCountsAGpuWithSeveralTenantsOnce) {
  // 2 GPUs for 7200 s: `a` has both for 3600, `b` one for 3600, `c` the other for 1800.
  EXPECT_DOUBLE_EQ(idle_share(cluster_, result_), 1800.0 / 14'400);
  Result shared;
  shared.stretches = {
      {.job = 0, .from = kStart, .to = kStart + seconds(60), .gpus = {GpuId(0)}},
      {.job = 1, .from = kStart + seconds(30), .to = kStart + seconds(100), .gpus = {GpuId(0)}}};
  EXPECT_DOUBLE_EQ(idle_share(cluster_, shared), 0.5);
  EXPECT_DOUBLE_EQ(idle_share(cluster_, Result{}), 1);
}

TEST_F(SeriesTest, GpusAndQueueOverTime) {
  const Series series = series_of(trace_, cluster_, result_, 8);  // parts of 15 minutes
  ASSERT_EQ(series.busy_gpus.size(), 8U);
  EXPECT_DOUBLE_EQ(mean(series.busy_gpus, 0, 4), 2);
  EXPECT_DOUBLE_EQ(mean(series.busy_gpus, 4, 6), 2);
  EXPECT_DOUBLE_EQ(mean(series.busy_gpus, 6, 8), 1);
  EXPECT_DOUBLE_EQ(mean(series.waiting_jobs, 0, 2), 1);
  EXPECT_DOUBLE_EQ(mean(series.waiting_jobs, 2, 4), 2);
  EXPECT_DOUBLE_EQ(mean(series.waiting_jobs, 4, 8), 0);
  EXPECT_NEAR(series.busy_gpus[0].x, 0.125, 1e-9) << "hours, the middle of the part";
}

TEST_F(SeriesTest, DistributionsEndAtAHundredPercent) {
  const auto jct = jct_distribution(trace_, result_);
  EXPECT_DOUBLE_EQ(jct.front().x, 60);
  EXPECT_DOUBLE_EQ(jct.back().x, 120);
  EXPECT_DOUBLE_EQ(jct.back().y, 100);
  const auto wait = wait_distribution(trace_, result_);
  EXPECT_DOUBLE_EQ(wait.front().x, 1.0 / 60) << "a second, for who did not wait";
  EXPECT_DOUBLE_EQ(wait.front().y, 0);
  EXPECT_DOUBLE_EQ(wait.back().x, 60);
}

TEST_F(SeriesTest, SharesAreGpuHoursMostFirst) {
  const auto bars = shares_by_user(trace_, result_);
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[0].name, "user 1");
  EXPECT_DOUBLE_EQ(bars[0].value, 2);
  EXPECT_DOUBLE_EQ(bars[1].value, 1.5);
  const auto cut = shares_by_user(trace_, result_, 1);
  EXPECT_EQ(cut.back().name, "1 others");
}

TEST_F(SeriesTest, SlowdownAndFairness) {
  const Metrics metrics = measure(trace_, cluster_, result_);
  EXPECT_DOUBLE_EQ(metrics.slowdown.max, 2);
  EXPECT_NEAR(metrics.slowdown.mean, (1.0 + 2.0 + 2.0) / 3, 1e-9);
  EXPECT_NEAR(metrics.fairness().value_or(0), 9.0 / (2 * 5), 1e-9) << "means 1 and 2";
}

TEST_F(SeriesTest, TheTimelineHasASliceForEveryGpuOfEveryStretch) {
  const auto events = nlohmann::json::parse(timeline_json(trace_, cluster_, result_));
  int slices = 0;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    ++slices;
    if (event.at("name") != "c") continue;
    EXPECT_EQ(event.at("ts"), 3'600'000'000);
    EXPECT_EQ(event.at("dur"), 1'800'000'000);
  }
  EXPECT_EQ(slices, 4);
}

TEST_F(SeriesTest, ThePageHasItsChartsAndNoMarkupOfOthers) {
  const PageRun run{
      {"trace <x>", "1x2", "fifo", "first-fit"}, measure(trace_, cluster_, result_), result_};
  const std::string html = page(trace_, cluster_, std::span(&run, 1));
  EXPECT_THAT(html, HasSubstr("Completion time (JCT)"));
  EXPECT_THAT(html, HasSubstr("What ran where, by user</text>"));
  EXPECT_THAT(html, HasSubstr("a&lt;b>"));
  EXPECT_EQ(html.find("<x>"), std::string::npos);
  EXPECT_EQ(html.find(",nan"), std::string::npos);
  std::string without = html;  // the name of SVG, which is not looked up
  constexpr std::string_view kSvg = "http://www.w3.org/2000/svg";
  for (std::size_t at = 0; (at = without.find(kSvg)) != std::string::npos;) {
    without.erase(at, kSvg.size());
  }
  EXPECT_EQ(without.find("http"), std::string::npos) << "no network";
  EXPECT_EQ(html.find("<script"), std::string::npos);
  const std::vector<PageRun> two = {run, run};
  EXPECT_THAT(page(trace_, cluster_, two), HasSubstr("Trade-offs"));
}

}  // namespace
}  // namespace berth::sim
