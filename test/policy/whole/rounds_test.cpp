// Goal: a policy in rounds is one allocator; claims to a type follow what is owed and received; a
// plan waits for its answer, and not for long.
// Method: toy plans, whose first round is worked out by hand; a plan followed by another; answers
// that come in time, late, never, or make no sense.
#include "policy/whole/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "policy/kit/job_list.hpp"
#include "policy/policies.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

/// A node of one `fast` GPU and one of a `slow` GPU.
Cluster fast_and_slow() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "f", .gpus = 1, .vram = Bytes(24LL << 30), .type = "fast"});
  cluster.add_node({.name = "s", .gpus = 1, .vram = Bytes(24LL << 30), .type = "slow"});
  return cluster;
}

using Propose = std::function<Proposal(std::span<const JobId>)>;

class Toy final : public Allocator {
 public:
  explicit Toy(Propose propose) : propose_(std::move(propose)) {}
  Proposal propose(const ClusterView&, std::span<const JobId> jobs, const TimePlan&) override {
    return propose_(jobs);
  }

 private:
  Propose propose_;
};

std::unique_ptr<Policy> of_plan(Propose propose) {
  auto placer = (*std::ranges::find(placers(), "first-fit", &PlacerEntry::name)).make();
  return in_rounds(
      "toy",
      {.round = seconds(60), .plan_lasts = seconds(60), .sharing = RoundRules::Sharing::AsPlanned},
      std::move(placer), std::make_unique<Toy>(std::move(propose)));
}

/// Each job gets one type alone: the first the slow one, the second the fast one.
Proposal crossed(std::span<const JobId> jobs) {
  Proposal proposal;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    proposal.options.push_back({.jobs = {jobs[i]}, .type = static_cast<std::uint8_t>(1 - i % 2)});
    proposal.shares.push_back({.part = 1, .of = 1});
  }
  return proposal;
}

/// The same, if a solver says so.
Proposal asked(std::span<const JobId> jobs) {
  Proposal proposal = crossed(jobs);
  proposal.shares.clear();
  proposal.question =
      Question{LinearProgram{.columns = static_cast<std::uint32_t>(jobs.size()), .rows = {}}};
  return proposal;
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
  const JobId first = scene.wait(test::whole(1, kForever));
  scene.wait(test::whole(1, kForever));
  const auto policy = of_plan([](std::span<const JobId> jobs) {
    return Proposal{.options = {{.jobs = {jobs[0]}, .type = 1}}, .shares = {{.part = 1, .of = 1}}};
  });
  EXPECT_EQ(gpus_of(policy->decide(scene.view(), {})),
            (std::map<JobId, std::uint32_t>{{first, 1}}));
}

TEST(Rounds, WhereNobodyIsOwedAnythingItGoesByArrival) {
  test::Scene scene(fast_and_slow());
  const JobId first = scene.wait(test::whole(1, kForever));
  const auto policy = of_plan([](std::span<const JobId>) { return Proposal{}; });
  EXPECT_EQ(gpus_of(policy->decide(scene.view(), {})),
            (std::map<JobId, std::uint32_t>{{first, 0}}));
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

JobSpec of_memory(std::int64_t gib) {
  JobSpec spec = test::whole(1, kForever);
  spec.request.gpu.vram = Bytes(gib << 30);
  spec.request.gpu.sharing = Sharing::Shared;
  return spec;
}

/// The first two share the fast GPU all the time, the third is owed it too, but less.
Proposal two_together(std::span<const JobId> jobs) {
  return {.options = {{.jobs = {jobs[0], jobs[1]}, .type = 0}, {.jobs = {jobs[2]}, .type = 0}},
          .shares = {{.part = 1, .of = 1}, {.part = 1, .of = 2}}};
}

TEST(Rounds, JobsThatAPlanOwesTimeTogetherSitOnTheSameGpu) {
  test::Scene scene(fast_and_slow());
  const JobId first = scene.wait(of_memory(4));
  const JobId second = scene.wait(of_memory(4));
  const JobId third = scene.wait(of_memory(4));
  const auto policy = of_plan(two_together);
  const auto gpus = gpus_of(policy->decide(scene.view(), {}));
  EXPECT_EQ(gpus, (std::map<JobId, std::uint32_t>{{first, 0}, {second, 0}}))
      << "nobody joins them by the placement";
  EXPECT_EQ(policy->refused(third, scene.view())->refusal.gate.beside, JobId(0));
  const auto copy = of_plan(two_together);
  ASSERT_TRUE(copy->restore(policy->save()).has_value());
  EXPECT_EQ(copy->save(), policy->save());
}

TEST(Rounds, WhereMemoryDoesNotAdmitBothEachIsTriedByItself) {
  test::Scene scene(fast_and_slow());
  const JobId first = scene.wait(of_memory(16));
  const JobId second = scene.wait(of_memory(16));
  scene.wait(of_memory(1));
  const auto policy = of_plan(two_together);
  EXPECT_EQ(gpus_of(policy->decide(scene.view(), {})),
            (std::map<JobId, std::uint32_t>{{first, 0}}));
  EXPECT_EQ(policy->refused(second, scene.view())->refusal.gate.beside, first);
}

class AskedRounds : public testing::Test {
 protected:
  Decisions decide() { return policy_->decide(scene_.view(), {}); }
  Decisions decide_with(Answer answer) {
    scene_.answer(std::move(answer));
    Decisions decisions = decide();
    scene_.answer(std::nullopt);
    return decisions;
  }

  test::Scene scene_{fast_and_slow()};
  const JobId first_ = scene_.wait(test::whole(1, kForever));
  const JobId second_ = scene_.wait(test::whole(1, kForever));
  std::unique_ptr<Policy> policy_ = of_plan(asked);
  const Decisions first_pass_ = decide();
  const std::uint64_t number_ = first_pass_.question ? first_pass_.question->number() : 0;
  const Answer all_{.number = number_, .values = {1'000'000, 1'000'000}};
};

TEST_F(AskedRounds, AskAndWaitThenFollowTheAnswer) {
  EXPECT_TRUE(first_pass_.question && first_pass_.list.empty());
  EXPECT_EQ(first_pass_.wake_at, kStart + seconds(6));
  scene_.at(kStart + seconds(2));
  const Decisions decisions = decide_with(all_);
  EXPECT_EQ(gpus_of(decisions), (std::map<JobId, std::uint32_t>{{first_, 1}, {second_, 0}}));
  EXPECT_EQ(decisions.wake_at, kStart + seconds(62));
  EXPECT_FALSE(decisions.question);
}

TEST_F(AskedRounds, AnswersToOtherQuestionsAreNotTaken) {
  EXPECT_TRUE(decide_with({.number = number_ + 1, .values = all_.values}).list.empty());
}

TEST_F(AskedRounds, WithoutAnAnswerTheyGoOnAndAskAgainARoundLater) {
  scene_.at(kStart + seconds(6));
  const Decisions late = decide();
  EXPECT_EQ(gpus_of(late), (std::map<JobId, std::uint32_t>{{first_, 0}, {second_, 1}}))
      << "without a plan each has what is free";
  EXPECT_EQ(late.wake_at, kStart + seconds(66));
  scene_.at(kStart + seconds(66));
  EXPECT_TRUE(decide().question);
}

TEST_F(AskedRounds, ALateAnswerCountsFromTheNextRound) {
  scene_.at(kStart + seconds(6));
  const auto before = gpus_of(decide());
  scene_.at(kStart + seconds(30));
  EXPECT_EQ(gpus_of(decide_with({.number = number_, .values = {1'000'000, 0}})), before);
  scene_.at(kStart + seconds(66));
  EXPECT_EQ(gpus_of(decide()), (std::map<JobId, std::uint32_t>{{first_, 1}}));
}

TEST_F(AskedRounds, AnAnswerWithoutValuesIsNone) {
  scene_.at(kStart + seconds(1));
  const Decisions decisions = decide_with({.number = number_, .values = {}});
  EXPECT_EQ(gpus_of(decisions), (std::map<JobId, std::uint32_t>{{first_, 0}, {second_, 1}}));
  EXPECT_FALSE(decisions.question) << "not before a round is over";
  scene_.at(kStart + seconds(61));
  EXPECT_TRUE(decide().question);
}

TEST_F(AskedRounds, RestoredTheyKnowWhatTheyAsked) {
  const auto copy = of_plan(asked);
  ASSERT_TRUE(copy->restore(policy_->save()).has_value());
  EXPECT_EQ(copy->save(), policy_->save());
  scene_.answer(all_);
  EXPECT_EQ(gpus_of(copy->decide(scene_.view(), {})).size(), 2U);
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
  TimePlan::Owed owed;
  owed[jobs[0]][{}] = {{1, 4}};
  owed[jobs[1]][{}] = {{1, 2}};
  owed[jobs[2]][{}] = {{0, 1}};
  owed[jobs[3]][{}] = {{1, 4}};
  plan.make(kStart, owed);
  const auto positions = [&](const TimePlan::Ranking& by) {
    std::vector<std::size_t> found;
    for (const auto& claimant : plan.by_claim(jobs, 0, by)) found.push_back(claimant.last);
    return found;
  };
  using Positions = std::vector<std::size_t>;
  const TimePlan::Ranking by{.half = seconds(30)};
  EXPECT_EQ(positions(by), (Positions{1, 0, 3})) << "nothing is owed to 2";
  plan.add({jobs[1]}, 0, seconds(31));
  plan.add_work(jobs[1], seconds(31), kFullSpeed);
  plan.add({jobs[0]}, 0, seconds(1));
  plan.add_work(jobs[0], seconds(1), Rate(500'000));
  EXPECT_EQ(positions(by), (Positions{3, 1, 0})) << "120, 122 and 124 s";
  EXPECT_EQ(plan.worked(jobs[1]), seconds(31));
  EXPECT_EQ(plan.worked(jobs[0]), seconds(1) / 2) << "at half speed";
  plan.make(kStart + seconds(120), owed);
  EXPECT_EQ(positions(by), (Positions{1, 3, 0})) << "3 lacks a second more";
  EXPECT_EQ(positions({.half = seconds(30), .unowed = TimePlan::Unowed::Last}),
            (Positions{1, 3, 0, 2}));
}

TEST(TimePlan, IsOutrunWhereItOwesTimeOnATypeThatAJobHasLeftBehind) {
  Cluster two;
  two.add_switch();
  two.add_node({.name = "a", .gpus = 1, .vram = Bytes(std::int64_t{24} << 30), .type = "V100"});
  two.add_node({.name = "b", .gpus = 1, .vram = Bytes(std::int64_t{24} << 30), .type = "K80"});
  test::Scene scene(two);
  const std::vector<JobId> jobs = {scene.wait(test::whole(1, kForever)),
                                   scene.wait(test::whole(1, kForever))};
  JobList list;
  list.update(scene.view(), {}, *count({}));
  TimePlan plan;
  plan.follow(scene.view(), list);
  TimePlan::Owed owed;
  for (const JobId id : jobs) owed[id][{}] = {{3, 10}, {2, 5}};
  plan.make(kStart, owed);
  EXPECT_EQ(plan.prospect_of(jobs[0]).percent, 70);
  EXPECT_EQ(plan.prospect_of(jobs[0]).type, 1U);
  scene.at(kStart + seconds(60));
  const auto is_outrun = [&](Duration lasts) { return plan.is_outrun(scene.view(), jobs, lasts); };
  EXPECT_FALSE(is_outrun(seconds(60))) << "any may run on either";
  scene.job(jobs[1]).bound = GpuTypes{1} << 1;
  EXPECT_TRUE(is_outrun(seconds(60)));
  EXPECT_FALSE(is_outrun(seconds(61))) << "not so soon";
  owed[jobs[1]][{}] = {{0, 1}, {2, 5}};
  plan.make(kStart, owed);
  EXPECT_FALSE(is_outrun(seconds(60)));
}

TEST(TimePlan, OwesCombinationsAndForgetsThemWithAJobOrAPlan) {
  test::Scene scene(test::uniform(1, 4));
  std::vector<JobId> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(scene.wait(test::whole(1, kForever)));
  JobList list;
  list.update(scene.view(), {}, *count({}));
  TimePlan plan;
  plan.follow(scene.view(), list);
  TimePlan::Owed owed;
  for (const JobId id : jobs) owed[id][{}] = {{0, 1}};
  owed[jobs[1]][{jobs[0]}] = {{1, 2}};
  owed[jobs[2]][{jobs[0]}] = {{1, 2}};
  plan.make(kStart, owed);
  const TimePlan::Ranking by{.half = seconds(30)};
  const auto combinations = [&] {
    std::vector<Combination> found;
    for (const auto& [last, others] : plan.by_claim(jobs, 0, by)) {
      found.push_back(*others);
      found.back().push_back(jobs[last]);
    }
    return found;
  };
  using Combinations = std::vector<Combination>;
  EXPECT_EQ(combinations(), (Combinations{{jobs[0], jobs[1]}, {jobs[0], jobs[2]}}));
  plan.add({jobs[0], jobs[1]}, 0, seconds(1));
  plan.add({jobs[1], jobs[2]}, 0, seconds(9));  // of no plan
  EXPECT_EQ(combinations(), (Combinations{{jobs[0], jobs[2]}, {jobs[0], jobs[1]}}));
  EXPECT_EQ(plan.prospect_of(jobs[2]).beside, std::vector{jobs[0]});
  TimePlan::Memory memory = plan.memory();
  EXPECT_TRUE(is_sane(memory));
  memory.standings.at(jobs[1]).beside[{jobs[2]}] = {{}};
  EXPECT_FALSE(is_sane(memory)) << "the last is not last";
  owed[jobs[2]].erase({jobs[0]});
  plan.make(kStart + seconds(60), owed);
  EXPECT_EQ(combinations(), (Combinations{{jobs[0], jobs[1]}}));
  scene.state().jobs.erase(jobs[0]);
  const Event ended{EventKind::Ended, jobs[0]};
  list.update(scene.view(), {&ended, 1}, *count({}));
  plan.follow(scene.view(), list);
  std::erase(jobs, jobs[0]);
  EXPECT_TRUE(combinations().empty());
}

}  // namespace
}  // namespace berth
