// What a job was refused closes its lane to jobs that ask for as much, for as long as that holds.
//
// Method: a policy sees the same cluster again, where nothing but the first job of a lane differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

std::vector<JobId> started(const Decisions& decisions) {
  std::vector<JobId> jobs;
  for (const Decision& decision : decisions.list) {
    if (const auto* start = std::get_if<Start>(&decision)) jobs.push_back(start->job);
  }
  return jobs;
}

/// Two switches with a GPU free on each, and two jobs of one lane that ask for both: the first has
/// waited too short a time to be spread over switches, the second long enough.
class Lanes : public testing::Test {
 protected:
  Lanes() {
    first_ = scene_.wait(whole(2, hours(1)));
    scene_.run(whole(1, hours(1)), {1});
    scene_.run(whole(1, hours(1)), {3});
    scene_.at(kStart + seconds(1));
    second_ = scene_.wait(whole(2, hours(1)));
    scene_.at(kStart + minutes(30));
    scene_.job(first_).since = kStart + minutes(29);  // it ran until then
  }
  static Cluster two_switches() {
    Cluster cluster;
    for (int n = 0; n < 2; ++n) {
      cluster.add_switch();
      cluster.add_node({.name = "n", .gpus = 2, .vram = Bytes(24LL << 30)});
    }
    return cluster;
  }
  std::vector<JobId> pass(std::vector<Event> events) {
    return started(policy_->decide(scene_.view(), events));
  }

  Scene scene_{two_switches()};
  std::unique_ptr<Policy> policy_ = *make_policy("capacity", "");
  JobId first_;
  JobId second_;
};

TEST_F(Lanes, OpenWhenTheirFirstJobGoes) {
  ASSERT_EQ(pass({}), std::vector<JobId>{});
  scene_.job(first_).state = JobState::Held;
  EXPECT_EQ(pass({{EventKind::Withdrawn, first_}}), std::vector{second_});
}

TEST_F(Lanes, OpenWhenAnotherJobIsFirst) {
  ASSERT_EQ(pass({}), std::vector<JobId>{});
  scene_.job(second_).submitted = kStart - seconds(1);
  EXPECT_EQ(pass({{EventKind::Changed, second_}}), std::vector{second_});
}

/// Two GPUs that a job has for an hour.
class Submissions : public testing::Test {
 protected:
  bool displaces(const std::vector<Event>& events) {
    const Decisions decisions = policy_->decide(scene_.view(), events);
    return std::ranges::any_of(decisions.list, [](const Decision& decision) {
      return std::holds_alternative<Preempt>(decision);
    });
  }
  Event submit(Duration estimate) {
    return {EventKind::Submitted, scene_.wait(whole(2, estimate))};
  }

  Scene scene_{uniform(1, 2)};
  JobId running_ = scene_.run(whole(2, hours(1)), {0, 1});
  std::unique_ptr<Policy> policy_ = *make_policy("srtf", "");
};

TEST_F(Submissions, DisplaceAsSoonAsOneMay) {
  ASSERT_FALSE(displaces({submit(hours(2))}));
  scene_.at(kStart + seconds(1));
  EXPECT_FALSE(displaces({submit(hours(3))}));
  EXPECT_TRUE(displaces({submit(hours(4)), submit(minutes(1))})) << "of one lane, the last first";
}

TEST_F(Submissions, StartWhereThereIsRoom) {
  ASSERT_FALSE(displaces({submit(hours(2))}));
  scene_.end(running_, seconds(0));
  EXPECT_EQ(started(policy_->decide(scene_.view(), {})).size(), 1U);
}

TEST(ManyLanes, AreNotRankedWhereNothingFits) {
  Scene scene{uniform(1, 2)};
  scene.run(whole(1, hours(1)), {0});
  std::vector<JobId> large;
  for (int i = 0; i < 300; ++i) large.push_back(scene.wait(whole(2, minutes(1 + i))));
  const JobId small = scene.wait(whole(1, hours(9)));
  scene.at(kStart + seconds(1));
  const auto policy = *make_policy("wfp3", "");
  EXPECT_EQ(started(policy->decide(scene.view(), {})), std::vector{small});
  for (const JobId job : large) {
    const auto refused = policy->refused(job, scene.view());
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->refusal.why, Why::Capacity);
  }
}

}  // namespace
}  // namespace berth::test
