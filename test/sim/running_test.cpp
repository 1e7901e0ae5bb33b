// Goal: a word comes when the work that was named is done, whatever speed, overhead and stops.
// Method: one or two jobs on one GPU, by hand.
#include "sim/running.hpp"

#include <gtest/gtest.h>

#include "sim/one_gpu_job.hpp"

namespace berth::sim {
namespace {

class MarkTest : public testing::Test {
 protected:
  MarkTest() {
    cluster_.add_switch();
    cluster_.add_node({.name = "n", .gpus = 1});
    trace_.jobs = {one_gpu_job("a", 0, 100), one_gpu_job("b", 0, 100)};
    options_.rates.share = *parse_share("timeslice");
  }
  static Grant grant() { return {.shares = {{.gpu = GpuId(0)}}, .host = NodeId(0)}; }
  static Instant at(int second) { return kStart + seconds(second); }

  Cluster cluster_;
  trace::Trace trace_;
  Options options_;
};

TEST_F(MarkTest, FollowsTheSpeedOfItsJob) {
  Running running(trace_, cluster_, options_);
  running.begin(0, grant(), at(0));
  running.mark(0, seconds(50));
  EXPECT_EQ(running.next_mark(), at(50));
  running.begin(1, grant(), at(40));
  running.settle(at(40));
  EXPECT_EQ(running.next_mark(), at(60)) << "half as fast for the last ten";
  running.pause(1, at(50));
  running.settle(at(50));
  EXPECT_EQ(running.next_mark(), at(55));
  EXPECT_FALSE(running.take_mark(at(54)).has_value());
  const auto mark = running.take_mark(at(55));
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->job, 0U);
  EXPECT_EQ(mark->done, seconds(50));
  EXPECT_EQ(running.next_mark(), kNever);
}

TEST_F(MarkTest, IsGoneWhenItsJobStopsAndSaysWhereItContinues) {
  options_.costs = {.start = seconds(3), .restart = seconds(4)};
  Running running(trace_, cluster_, options_);
  running.begin(0, grant(), at(0));
  running.mark(0, Duration(0));
  EXPECT_EQ(running.take_mark(at(3))->done, Duration(0)) << "once it makes progress";
  running.mark(0, seconds(80));
  running.pause(0, at(63));
  EXPECT_EQ(running.next_mark(), kNever);
  running.begin(0, grant(), at(70));
  EXPECT_EQ(running.next_mark(), kNever);
  running.mark(0, running.done(0));
  EXPECT_EQ(running.next_mark(), at(77));
  EXPECT_EQ(running.take_mark(at(77))->done, seconds(60));
  running.pause(0, at(80));
  running.fall_back(0);
  running.begin(0, grant(), at(80));
  running.mark(0, running.done(0));
  EXPECT_EQ(running.take_mark(at(87))->done, Duration(0)) << "it begins anew";
}

TEST_F(MarkTest, ThatIsNotBeforeTheEndNeverComes) {
  Running running(trace_, cluster_, options_);
  running.begin(0, grant(), at(0));
  running.mark(0, seconds(100));
  EXPECT_EQ(running.next_mark(), kNever);
  running.mark(0, kForever);
  EXPECT_EQ(running.next_mark(), kNever);
}

}  // namespace
}  // namespace berth::sim
