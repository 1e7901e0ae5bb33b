// Goal: starting, stopping and being stopped cost what the options say, and all of it is counted.
// Method: one GPU under srtf, worked out by hand.
#include "sim/costs.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/by_type.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

/// `long` runs from 0 and is displaced at 1000 s by `short`, which needs 100 s.
class CostsTest : public testing::Test {
 protected:
  CostsTest() { trace_.jobs = {one_gpu_job("long", 0, 3600), one_gpu_job("short", 1000, 100)}; }

  void run(const Options& options) {
    result_ = *simulate(trace_, cluster_, *make_policy("srtf", "first-fit"), options);
    metrics_ = measure(trace_, cluster_, result_);
  }
  double start(std::size_t i) const { return in_seconds(result_.jobs[i].start - kStart); }
  double end(std::size_t i) const { return in_seconds(result_.jobs[i].end - kStart); }
  double hours(double MachineFigures::* figure) const { return (*metrics_.machine).*figure; }

  trace::Trace trace_;
  Cluster cluster_ = *trace::parse_cluster("1x1");
  Result result_;
  Metrics metrics_;
};

TEST_F(CostsTest, AreNoneUnlessStated) {
  run({});
  EXPECT_EQ(end(1), 1100);
  EXPECT_EQ(end(0), 3700);
  EXPECT_FALSE(metrics_.machine.has_value());
}

TEST_F(CostsTest, StartingAndRestartingTakeTheirTime) {
  run({.costs = {.start = seconds(20), .restart = seconds(62)}});
  EXPECT_EQ(end(1), 1000 + 20 + 100);
  // 980 s of work were done by 1000 s; 20 + 62 s more before the other 2620.
  EXPECT_EQ(end(0), 1120 + 82 + 2620);
  EXPECT_EQ(result_.jobs[0].spent.ran, seconds(1000 + 82 + 2620));
  EXPECT_DOUBLE_EQ(hours(&MachineFigures::overhead_gpu_hours), (20 + 82 + 20) / 3600.0);
  EXPECT_DOUBLE_EQ(metrics_.wait.max, 120);  // `long`, from 1000 to 1120
  EXPECT_EQ(hours(&MachineFigures::lost_gpu_hours), 0);
}

TEST_F(CostsTest, AModelsOwnFiguresGoFirst) {
  Options options{.costs = {.start = seconds(20), .restart = seconds(62)}};
  options.rates.speeds.set_restart("long", seconds(5));
  options.rates.speeds.set_start("short", seconds(1));
  run(options);
  EXPECT_EQ(end(1), 1101);
  EXPECT_EQ(end(0), 1101 + 25 + 2620);
}

TEST_F(CostsTest, AJobThatSavesItselfLosesNothingThoughItsProcessEnds) {
  trace_.jobs.front().spec.conditions.edit().on_preempt.signal = 15;
  run({.costs = {.restart = seconds(62), .can_suspend = false}});
  EXPECT_EQ(end(1), 1100);
  EXPECT_EQ(end(0), 1100 + 62 + 2600);
  EXPECT_EQ(result_.jobs[0].spent.lost, Duration(0));
}

TEST_F(CostsTest, SavingKeepsTheGpuFromTheNext) {
  run({.costs = {.stop = seconds(30)}});
  EXPECT_EQ(start(1), 1030);
  EXPECT_EQ(end(1), 1130);
  EXPECT_EQ(end(0), 1130 + 2600);
  EXPECT_EQ(result_.jobs[0].spent.ran, seconds(3630));
  EXPECT_EQ(result_.jobs[0].preemptions, 1);
}

TEST_F(CostsTest, WithoutSuspensionWorkSinceTheLastCheckpointIsLost) {
  run({.costs = {.can_suspend = false, .checkpoint = seconds(300)}});
  EXPECT_EQ(end(1), 1100);
  EXPECT_EQ(end(0), 1100 + 3600 - 900);
  EXPECT_DOUBLE_EQ(hours(&MachineFigures::lost_gpu_hours), 100 / 3600.0);
  run({.costs = {.can_suspend = false}});
  EXPECT_EQ(end(0), 1100 + 3600);
  EXPECT_DOUBLE_EQ(hours(&MachineFigures::lost_gpu_hours), 1000 / 3600.0);
  EXPECT_DOUBLE_EQ(metrics_.run_over_alone.max, 4600 / 3600.0);
}

TEST_F(CostsTest, AJobDisplacedBeforeItsFirstStepHasDoneNothing) {
  trace_.jobs[1].submit = kStart + seconds(10);
  run({.costs = {.start = seconds(20), .can_suspend = false, .checkpoint = seconds(1)}});
  EXPECT_EQ(end(1), 10 + 20 + 100);
  EXPECT_EQ(end(0), 130 + 20 + 3600);
  EXPECT_EQ(result_.jobs[0].spent.overhead, seconds(30));
  EXPECT_EQ(result_.jobs[0].spent.lost, seconds(0));
}

TEST_F(CostsTest, GpusCostWhileTheyHaveATenant) {
  run({.costs = {.stop = seconds(30)}, .prices = *parse_prices("gpu=2,k80=1")});
  EXPECT_DOUBLE_EQ(*metrics_.machine->cost, (1000 + 30 + 100 + 2600) * 2 / 3600.0);
  run({.prices = *parse_prices("k80=1,0.5")});
  EXPECT_DOUBLE_EQ(*metrics_.machine->cost, 3700 * 0.5 / 3600.0);
  EXPECT_FALSE(parse_prices("k80=1,k80=2"));
  EXPECT_EQ(check_types("--price", *parse_prices("h100=1"), cluster_).error().message,
            "--price: the cluster has no GPU of type 'h100'; its types: gpu");
  EXPECT_EQ(
      parse_prices("k80=cheap").error().message,
      "--price: 'k80=cheap' is not a price up to 1000000, or TYPE=PRICE with commas, every type "
      "once");
}

TEST_F(CostsTest, GpusDrawPowerWithATenantAndWithout) {
  trace_.jobs[1].submit = kStart + seconds(7200);  // an hour after the first has ended
  run({.power = *parse_power("gpu=50:300")});
  ASSERT_EQ(metrics_.machine->energy.size(), 1U);
  const TypeEnergy& energy = metrics_.machine->energy[0];
  EXPECT_DOUBLE_EQ(energy.busy_gpu_hours, 3700 / 3600.0);
  EXPECT_DOUBLE_EQ(energy.idle_gpu_hours, 1);
  EXPECT_DOUBLE_EQ(energy.busy_kwh, 3700 / 3600.0 * 0.3);
  EXPECT_DOUBLE_EQ(energy.idle_kwh, 0.05);
  run({.power = *parse_power("k80=1:2")});
  EXPECT_TRUE(metrics_.machine->energy.empty()) << "no GPU of that type";
}

TEST_F(CostsTest, PowerIsReadAsWritten) {
  for (const char* text :
       {"300", "a=300", "50:300:1", "300:50", "=1:2", "-1:2", "1:1e6", "nan:1", "a=1:2,a=3:4"}) {
    ASSERT_FALSE(parse_power(text)) << text;
    EXPECT_EQ(parse_power(text).error().message,
              "--power: '" + std::string(text) +
                  "' is not IDLE:BUSY in watts up to 100000, busy at least as many as idle, or "
                  "TYPE=IDLE:BUSY with commas, every type once");
  }
  EXPECT_TRUE(check_types("--power", *parse_power("gpu=1:2,3:4"), cluster_));
  EXPECT_EQ(check_types("--power", *parse_power("gpu=1:2,k80=3:4"), cluster_).error().message,
            "--power: the cluster has no GPU of type 'k80'; its types: gpu");
}

TEST_F(CostsTest, ATimeLimitCountsTheTimeThatCostsTake) {
  trace_.jobs[1].spec.time_limit = seconds(110);
  run({.costs = {.start = seconds(20)}});
  EXPECT_TRUE(result_.jobs[1].timed_out);
  EXPECT_EQ(metrics_.machine->timed_out, 1);
  EXPECT_EQ(metrics_.jobs, 1U);
}

}  // namespace
}  // namespace berth::sim
