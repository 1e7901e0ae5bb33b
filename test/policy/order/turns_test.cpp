// Goal: the queue of a job is that of its service, a job that must stay stands where it would after
// a while, and who has waited long is promised a turn, for good.
// Method: ranks of jobs of a crafted scene.
#include <gtest/gtest.h>

#include "policy/order_named.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

using test::uniform;
using test::whole;

class TurnsTest : public testing::Test {
 protected:
  std::int64_t queue(JobId id) const { return order_->lane(scene_.look(id), scene_.view()); }
  Rank of_lane(JobId id) const { return order_->lane_rank(scene_.look(id), scene_.view()); }
  void prepare(Duration since) {
    scene_.at(kStart + since);
    order_->prepare(scene_.view(), {});
  }

  test::Scene scene_{uniform(4, 8)};
  std::unique_ptr<Order> order_ = test::order_named("turns");
};

TEST_F(TurnsTest, QueuesEndAtAQuarterOfAnHourAndFourTimesAsMuch) {
  const JobId job = scene_.wait(whole(1, kForever));
  for (const auto& [ran, expected] : {std::pair(seconds(899), 0),
                                      {seconds(900), 1},
                                      {seconds(3599), 1},
                                      {seconds(3600), 2},
                                      {hours(4), 3},
                                      {hours(24 * 365), 8}}) {
    scene_.has_run(job, ran);
    EXPECT_EQ(queue(job), expected) << micros(ran);
  }
}

TEST_F(TurnsTest, AGangCountsNoMoreGpusThanANodeHas) {
  const JobId gang = scene_.wait(whole(16, kForever));
  scene_.has_run(gang, seconds(112));
  EXPECT_EQ(queue(gang), 0) << "8 x 112 s";
  scene_.has_run(gang, seconds(113));
  EXPECT_EQ(queue(gang), 1);
}

TEST_F(TurnsTest, ARunningJobIsAskedAgainAtTheEndOfItsQueue) {
  const JobId job = scene_.run(whole(2, kForever), {0, 1});
  const Ranked ranked = order_->rank(scene_.look(job), scene_.view());
  EXPECT_EQ(ranked.rank.major, 0);
  EXPECT_EQ(ranked.valid_until, kStart + seconds(450));
  scene_.at(kStart + seconds(450));
  EXPECT_EQ(order_->rank(scene_.look(job), scene_.view()).rank.major, 1);
}

TEST_F(TurnsTest, AJobThatMustStayStandsWhereItWouldAfterwards) {
  JobSpec spec = whole(1, kForever);
  spec.suspending = Suspending::No;
  EXPECT_EQ(queue(scene_.wait(spec)), 3) << "four hours";
  spec.time_limit = minutes(20);
  EXPECT_EQ(queue(scene_.wait(spec)), 1) << "its limit";
  spec.time_limit = kForever;
  spec.estimate = minutes(10);
  EXPECT_EQ(queue(scene_.wait(spec)), 0) << "its user's estimate";
  spec.learned_from = 5;
  EXPECT_EQ(queue(scene_.wait(spec)), 3) << "others' runs tell nothing of this one";
}

TEST_F(TurnsTest, WithoutHostMemoryForItAWaitingJobStandsAsOneThatStays) {
  JobSpec spec = whole(2, kForever);
  spec.time_limit = minutes(20);
  const JobId job = scene_.wait(spec);
  spec.time_limit = minutes(5);
  const JobId short_one = scene_.wait(spec);
  prepare(seconds(0));
  EXPECT_EQ(of_lane(job).major, 0);
  // Of the four nodes; the job asks for two whole GPUs.
  scene_.state().settings.suspend_room = 4 * 2 * scene_.view().cluster().largest_gpu();
  prepare(seconds(1));
  EXPECT_EQ(of_lane(job).major, 0);
  EXPECT_NE(queue(job), queue(short_one)) << "it may not stand behind the other then";
  *scene_.state().settings.suspend_room -= Bytes(1);
  prepare(seconds(2));
  EXPECT_EQ(of_lane(job).major, 1) << "as after 2 x 20 min";
  EXPECT_EQ(of_lane(short_one).major, 0);
}

TEST_F(TurnsTest, InAQueueUsersWithLessServiceGoFirst) {
  scene_.state().accounts[UserId(1)] = {.service = ShareSeconds(2'000'000)};
  scene_.state().accounts[UserId(2)] = {.weight_milli = 4000, .service = ShareSeconds(2'000'000)};
  JobSpec spec = whole(1, kForever);
  spec.user = UserId(1);
  const JobId heavy = scene_.wait(spec);
  spec.user = UserId(2);
  const JobId light = scene_.wait(spec);
  prepare(seconds(0));
  EXPECT_LT(of_lane(light), of_lane(heavy));
  scene_.has_run(light, seconds(900));
  EXPECT_LT(of_lane(heavy), of_lane(light)) << "the queue comes first";
}

TEST_F(TurnsTest, WhoHasWaitedLongIsPromisedATurn) {
  const JobId gang = scene_.wait(whole(8, kForever));
  const JobId half = scene_.wait(whole(4, kForever));
  prepare(hours(59));
  EXPECT_EQ(of_lane(gang).major, 0);
  prepare(hours(61));
  EXPECT_EQ(of_lane(gang).major, -1);
  EXPECT_EQ(of_lane(half).major, 0) << "it fits into gaps";
  prepare(hours(121));
  EXPECT_EQ(of_lane(half).major, -1) << "12 of the 32 - 8 GPUs / 2";
  const JobId pair = scene_.wait(whole(2, kForever));
  scene_.job(pair).waited = hours(1000);
  prepare(hours(122));
  EXPECT_EQ(of_lane(pair).major, 0) << "no more are promised at a time";
}

TEST_F(TurnsTest, APromiseLastsOverARestartUntilTheEnd) {
  const JobId gang = scene_.wait(whole(8, kForever));
  prepare(hours(61));
  const auto restarted = test::order_named("turns");
  ASSERT_TRUE(restarted->restore(order_->save()));
  restarted->prepare(scene_.view(), {});
  EXPECT_EQ(restarted->lane_rank(scene_.look(gang), scene_.view()).major, -1);
  scene_.job(gang).state = JobState::Running;
  scene_.job(gang).since = scene_.view().now();
  EXPECT_EQ(restarted->rank(scene_.look(gang), scene_.view()).rank.major, -1);
  EXPECT_FALSE(restarted->restore("nonsense"));
}

}  // namespace
}  // namespace berth
