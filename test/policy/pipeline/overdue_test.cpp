// Goal: a job is overdue after a multiple of its run time, or so long after its submission at the
// latest, and the policy is woken then.
#include "policy/pipeline/overdue.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

constexpr OverdueAfter kTwice{.milli = 2000, .most = hours(10)};

class OverdueTest : public testing::Test {
 protected:
  Instant due(const JobSpec& spec) {
    const JobId job = scene_.wait(spec);
    return due_of(scene_.view().job(job), kTwice);
  }
  Scene scene_{uniform(1, 2)};
};

TEST_F(OverdueTest, FollowsTheRunTime) {
  scene_.at(kStart + hours(1));
  EXPECT_EQ(due(whole(1, hours(3))), kStart + hours(1 + 2 * 3));
  EXPECT_EQ(due(whole(1, minutes(1))), kStart + hours(1) + minutes(2));
}

TEST_F(OverdueTest, ComesAtTheLatestAfterThis) {
  EXPECT_EQ(due(whole(1, hours(6))), kStart + hours(10));
  EXPECT_EQ(due(whole(1, kForever)), kStart + hours(10)) << "without an estimate or a limit";
}

TEST_F(OverdueTest, TakesThePromiseFromAShorterJob) {
  scene_.run(whole(2, hours(1)), {0, 1});
  const JobId late = scene_.wait(whole(2, minutes(20)));
  scene_.at(kStart + minutes(15));
  const JobId shorter = scene_.wait(whole(2, minutes(10)));
  const auto policy = *make_policy("sjf+easy:overdue_factor=1", "");
  const auto decide = [&] { return policy->decide(scene_.view(), {}); };
  const auto promised = [](const Decisions& decisions) {
    const auto* const kept = std::get_if<Reserve>(&decisions.list.at(0));
    return kept == nullptr ? JobId(0) : kept->holds.at(0).job;
  };
  const Decisions before = decide();
  EXPECT_EQ(promised(before), shorter);
  EXPECT_EQ(before.wake_at, kStart + minutes(20));
  scene_.at(kStart + minutes(20));
  EXPECT_EQ(promised(decide()), late);
}

}  // namespace
}  // namespace berth::test
