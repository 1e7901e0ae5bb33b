// The Gittins index over a history of its own against the two policies it is made of.
//
// Source: Gu et al., "Tiresias", NSDI 2019: 2D-LAS without knowledge, 2D-Gittins with the
// distribution of service; it does not say how many jobs make one. Tolerance: none on ranks; on
// Y480, 480 jobs derived from the authors' duration samples, the learned index must not end jobs
// later than `las` in the mean (skipped if the trace is absent).
// Method: jobs run and end on a scene; ranks are compared with those of `las` and of the index.
#include <gtest/gtest.h>

#include "paper/tiresias_trace.hpp"
#include "policy/kit/gittins.hpp"
#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace test {
namespace {

class GittinsLearned : public testing::Test {
 protected:
  /// A job that runs for so long on one GPU and ends; the order sees both.
  void past(Order& order, Duration ran) {
    const JobId id = scene_.run(whole(1, kForever), {0});
    order.prepare(scene_.view(), {});
    scene_.end(id, ran);  // the next one gets its id
    order.prepare(scene_.view(), {});
  }
  Rank rank(const Order& order, JobId id) {
    return order.rank(scene_.look(id), scene_.view()).rank;
  }

  Scene scene_{uniform(1, 4)};
};

TEST_F(GittinsLearned, IsLasUntilTheHistorySufficesAndTheIndexFromThenOn) {
  const auto order = test::order_named("gittins-learned");
  const auto plain = test::order_named("las");
  const JobId waiting = scene_.wait(whole(1, kForever));
  scene_.has_run(waiting, seconds(500));
  std::vector<std::int64_t> history;
  for (std::int64_t i = 0; i < 127; ++i) {
    history.push_back(10 * (i % 100 + 1));
    past(*order, seconds(history.back()));
    ASSERT_EQ(rank(*order, waiting), rank(*plain, waiting)) << i;
  }
  history.push_back(777);
  past(*order, seconds(777));
  const GittinsIndex index(history, GittinsForm::Paper);
  EXPECT_EQ(rank(*order, waiting).major, -index.at(500));
  EXPECT_NE(index.at(500), 0);
}

TEST_F(GittinsLearned, LearnsInStepsAndForgets) {
  const auto order = test::order_named("gittins-learned");
  const JobId waiting = scene_.wait(whole(1, kForever));
  for (int i = 0; i < 128; ++i) past(*order, seconds(1000));
  const Rank early = rank(*order, waiting);
  for (int i = 0; i < 31; ++i) past(*order, seconds(10));
  EXPECT_EQ(rank(*order, waiting), early);
  EXPECT_EQ(order->depends_on(), DependsOn::Job);
  past(*order, seconds(10));
  EXPECT_EQ(order->depends_on(), DependsOn::Cluster);
  EXPECT_LT(rank(*order, waiting), early);  // likelier to end soon
  for (int i = 0; i < 512; ++i) past(*order, seconds(1000));
  EXPECT_EQ(rank(*order, waiting), early);
}

TEST_F(GittinsLearned, GoesOnAfterARestore) {
  auto order = test::order_named("gittins-learned");
  const JobId waiting = scene_.wait(whole(1, kForever));
  for (std::int64_t i = 0; i < 300; ++i) {
    past(*order, seconds(7 * (i % 50) + 1));
    auto other = test::order_named("gittins-learned");
    ASSERT_TRUE(other->restore(order->save()));
    ASSERT_EQ(other->save(), order->save());
    ASSERT_EQ(rank(*other, waiting), rank(*order, waiting)) << i;
    if (i % 2 == 0) order = std::move(other);
  }
}

TEST_F(GittinsLearned, RefusesAMemoryThatIsNotItsOwn) {
  EXPECT_FALSE(test::order_named("gittins-learned")->restore("x"));
  EXPECT_TRUE(test::order_named("gittins-learned")->restore({}));
}

TEST_F(GittinsLearned, OnY480EndsJobsNoLaterThanLas) {
  std::string absent;
  const auto y480 = tiresias_trace(absent);
  if (!y480) GTEST_SKIP() << absent;
  EXPECT_LE(y480->mean_completion("gittins-learned"), y480->mean_completion("las"));
}

}  // namespace
}  // namespace test
}  // namespace berth
