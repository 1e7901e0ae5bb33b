// Goal: a policy in rounds is one function; claims to a type follow what is owed and received.
// Method: toy plans, whose first round is worked out by hand; a plan followed by another.
#include "policy/whole/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "policy/kit/job_list.hpp"
#include "policy/policies.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

using Shares = std::vector<std::vector<TimeShare>>;

/// A node of one `fast` GPU and one of a `slow` GPU.
Cluster fast_and_slow() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "f", .gpus = 1, .vram = Bytes(24LL << 30), .type = "fast"});
  cluster.add_node({.name = "s", .gpus = 1, .vram = Bytes(24LL << 30), .type = "slow"});
  return cluster;
}

std::unique_ptr<Policy> of_plan(Allocate allocate) {
  auto placer = (*std::ranges::find(placers(), "first-fit", &PlacerEntry::name)).make();
  return in_rounds("toy", {.round = seconds(60), .plan_lasts = seconds(60)}, std::move(placer),
                   std::move(allocate));
}

/// Each job gets one type alone: the first the slow one, the second the fast one.
Shares crossed(const ClusterView&, std::span<const JobId> jobs) {
  Shares shares(jobs.size(), std::vector<TimeShare>(2));
  for (std::size_t i = 0; i < jobs.size(); ++i) shares[i][1 - i % 2] = {.part = 1, .of = 1};
  return shares;
}

std::map<JobId, std::uint32_t> gpus_of(const Decisions& decisions) {
  std::map<JobId, std::uint32_t> gpus;
  for (const Decision& decision : decisions.list) {
    if (const auto* start = std::get_if<Start>(&decision)) {
      gpus[start->job] = start->placement.gpus.front().value();
    }
  }
  return gpus;
}

TEST(Rounds, AJobRunsOnlyOnATypeThatThePlanOwesIt) {
  test::Scene scene(fast_and_slow());
  const JobId first = scene.wait(test::whole(1, kForever));
  const JobId second = scene.wait(test::whole(1, kForever));
  const auto policy = of_plan(crossed);
  const Decisions decisions = policy->decide(scene.view(), {});
  EXPECT_EQ(gpus_of(decisions), (std::map<JobId, std::uint32_t>{{first, 1}, {second, 0}}));
  EXPECT_EQ(decisions.wake_at, kStart + seconds(60));
}

TEST(Rounds, AJobThatIsOwedNothingWaitsThoughGpusAreIdle) {
  test::Scene scene(fast_and_slow());
  scene.wait(test::whole(1, kForever));
  const auto policy = of_plan([](const ClusterView&, std::span<const JobId> jobs) {
    return Shares(jobs.size(), std::vector<TimeShare>(2));
  });
  EXPECT_TRUE(policy->decide(scene.view(), {}).list.empty());
}

TEST(Rounds, RestoredTheyDecideAlikeAndOtherBytesAreRefused) {
  test::Scene scene(fast_and_slow());
  for (int i = 0; i < 3; ++i) scene.wait(test::whole(1, kForever));
  const auto policy = of_plan(crossed);
  policy->decide(scene.view(), {});
  const Snapshot bytes = policy->save();
  const auto copy = of_plan(crossed);
  ASSERT_TRUE(copy->restore(bytes).has_value());
  EXPECT_EQ(copy->save(), bytes);
  scene.at(kStart + seconds(60));
  const auto decided = gpus_of(policy->decide(scene.view(), {}));
  EXPECT_EQ(decided.size(), 2U);
  EXPECT_EQ(gpus_of(copy->decide(scene.view(), {})), decided);
  const auto refused = copy->restore(bytes.substr(0, bytes.size() - 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("toy"), std::string::npos) << refused.error().message;
}

TEST(TimePlan, ClaimsGoByTimeReceivedOverTimeOwed) {
  test::Scene scene(test::uniform(1, 4));
  std::vector<JobId> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(scene.wait(test::whole(1, kForever)));
  JobList list;
  list.update(scene.view(), {}, *count({}));
  TimePlan plan;
  plan.follow(scene.view(), list);
  EXPECT_TRUE(plan.is_due(jobs, kStart, seconds(60)));
  const Shares shares = {{{1, 4}}, {{1, 2}}, {{0, 1}}, {{1, 4}}};
  plan.make(kStart, jobs, shares);
  using Positions = std::vector<std::size_t>;
  EXPECT_EQ(plan.by_claim(jobs, 0, seconds(30)), (Positions{1, 0, 3})) << "nothing is owed to 2";
  plan.add(jobs[1], 0, seconds(31));
  plan.add(jobs[0], 0, seconds(1));
  EXPECT_EQ(plan.by_claim(jobs, 0, seconds(30)), (Positions{3, 1, 0})) << "120, 122 and 124 s";
  plan.make(kStart + seconds(120), jobs, shares);
  EXPECT_EQ(plan.by_claim(jobs, 0, seconds(30)), (Positions{1, 3, 0})) << "3 lacks a second more";
}

}  // namespace
}  // namespace berth
