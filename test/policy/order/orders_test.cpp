// Goal: each order ranks as its file says, and says when its rank must be asked again.
// Method: a few jobs on one scene; ranks compared, never pinned.
#include <gtest/gtest.h>

#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

class Orders : public testing::Test {
 protected:
  Rank rank(const std::unique_ptr<Order>& order, JobId id) {
    return order->rank(scene_.look(id), scene_.view()).rank;
  }
  std::optional<Instant> expiry(const std::unique_ptr<Order>& order, JobId id) {
    return order->rank(scene_.look(id), scene_.view()).valid_until;
  }

  Scene scene_{uniform(2, 4)};
};

TEST_F(Orders, FifoLooksAtSubmissionOnly) {
  const JobId first = scene_.wait(whole(4, hours(9)));
  scene_.at(kStart + Duration(1));
  const JobId second = scene_.wait(whole(1, seconds(1)));
  EXPECT_LT(rank(test::order_named("fifo"), first), rank(test::order_named("fifo"), second));
  EXPECT_EQ(expiry(test::order_named("fifo"), first), std::nullopt);
}

TEST_F(Orders, SmallestFirstCountsGpus) {
  const JobId large = scene_.wait(whole(2, seconds(1)));
  scene_.at(kStart + seconds(1));
  const JobId small = scene_.wait(whole(1, hours(1)));
  const JobId later = scene_.wait(whole(1, hours(1)));
  EXPECT_LT(rank(test::order_named("smallest-first"), small),
            rank(test::order_named("smallest-first"), large));
  EXPECT_EQ(rank(test::order_named("smallest-first"), small),
            rank(test::order_named("smallest-first"), later));
}

TEST_F(Orders, SjfPutsTheUnknownLast) {
  const JobId unknown = scene_.wait(whole(1, kForever));
  const JobId limited = scene_.wait([] {
    JobSpec spec = whole(1, kForever);
    spec.time_limit = hours(2);
    return spec;
  }());
  const JobId known = scene_.wait(whole(1, hours(3)));
  EXPECT_LT(rank(test::order_named("sjf"), limited), rank(test::order_named("sjf"), known));
  EXPECT_LT(rank(test::order_named("sjf"), known), rank(test::order_named("sjf"), unknown));
}

TEST_F(Orders, SrtfCountsWhatIsLeft) {
  const JobId running = scene_.run(whole(1, seconds(100)), {0});
  const JobId waiting = scene_.wait(whole(1, seconds(60)));
  EXPECT_LT(rank(test::order_named("srtf"), waiting), rank(test::order_named("srtf"), running));
  EXPECT_GT(rank(test::order_named("sjf"), running), rank(test::order_named("sjf"), waiting));
  scene_.at(kStart + seconds(50));
  EXPECT_LT(rank(test::order_named("srtf"), running), rank(test::order_named("srtf"), waiting));
  EXPECT_GT(rank(test::order_named("sjf"), running), rank(test::order_named("sjf"), waiting))
      << "sjf looks at the whole";
}

TEST_F(Orders, SrtfOfAnOutlivedEstimateIsNotNegative) {
  const JobId running = scene_.run(whole(1, seconds(10)), {0});
  scene_.at(kStart + seconds(50));
  EXPECT_EQ(rank(test::order_named("srtf"), running).major, 0);
}

TEST_F(Orders, SrsfWeighsWithGpus) {
  const JobId wide = scene_.wait(whole(4, seconds(30)));
  const JobId longer = scene_.wait(whole(1, seconds(100)));
  const JobId unknown = scene_.wait(whole(1, kForever));
  EXPECT_LT(rank(test::order_named("srsf"), longer), rank(test::order_named("srsf"), wide));
  EXPECT_LT(rank(test::order_named("srtf"), wide), rank(test::order_named("srtf"), longer));
  EXPECT_LT(rank(test::order_named("srsf"), wide), rank(test::order_named("srsf"), unknown));
}

TEST_F(Orders, LasCountsServiceAndDriftsAsItIsAttained) {
  const JobId served = scene_.run(whole(2, kForever), {0, 1});
  const JobId other = scene_.wait(whole(1, kForever));
  scene_.at(kStart + seconds(10));
  const auto order = test::order_named("las");
  EXPECT_LT(rank(order, other), rank(order, served));
  const Ranked now = order->rank(scene_.look(served), scene_.view());
  scene_.at(kStart + seconds(25));
  EXPECT_EQ(rank(order, served).major,
            now.rank.major + now.drift.value().per_microsecond * micros(seconds(15)));
}

TEST_F(Orders, DlasMovesDownAtItsThresholds) {
  const JobId job = scene_.run(whole(2, kForever), {0, 1});
  const auto order = test::order_named("dlas");
  EXPECT_EQ(rank(order, job).major, 0);
  EXPECT_EQ(expiry(order, job), kStart + seconds(1625));
  scene_.at(kStart + seconds(1625) - Duration(1));
  EXPECT_EQ(rank(order, job).major, 0);
  scene_.at(kStart + seconds(1625));
  EXPECT_EQ(rank(order, job).major, 1);
  EXPECT_EQ(expiry(order, job), kStart + seconds(3600));
  scene_.at(kStart + seconds(3600));
  EXPECT_EQ(rank(order, job).major, 2);
  EXPECT_EQ(expiry(order, job), std::nullopt);
}

TEST_F(Orders, DlasNeverAsksToBeAskedAgainAtOnce) {
  const JobId job = scene_.run(whole(3, kForever), {0, 1, 2});  // 3250 s do not divide by three
  const auto order = test::order_named("dlas");
  const auto at = expiry(order, job);
  ASSERT_TRUE(at);
  scene_.at(*at);
  EXPECT_EQ(rank(order, job).major, 1);
  EXPECT_GT(expiry(order, job), at);
}

TEST_F(Orders, FairShareRanksUsersByServicePerWeight) {
  scene_.state().accounts[UserId(1)] = {.service = ShareSeconds(1'000'000)};
  scene_.state().accounts[UserId(2)] = {.weight_milli = 4000, .service = ShareSeconds(2'000'000)};
  const auto order = test::order_named("fair-share");
  const auto of = [&](std::uint32_t user) {
    return order->group_rank(UserId(user), scene_.view());
  };
  EXPECT_EQ(order->depends_on(), DependsOn::Group);
  EXPECT_LT(of(2), of(1));
  EXPECT_LT(of(3), of(2)) << "a user without an account has had nothing";
}

}  // namespace
}  // namespace berth
