// Goal: the engine trusts no policy. A decision that is not valid is dropped and counted, changes
// nothing, and does not stop those after it.
//
// Method: a policy that says one bad thing per test.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class BadPolicy : public testing::Test {
 protected:
  BadPolicy() : rig_(nodes_of(2, 2)) {}

  /// Expects that this decision is dropped, and leaves all as it was.
  void expect_dropped(const Decision& decision) {
    const std::uint64_t dropped = rig_.engine().dropped();
    const Effects& effects = rig_.decide({decision});
    EXPECT_TRUE(effects.list.empty());
    EXPECT_TRUE(effects.decisions.empty());
    EXPECT_EQ(rig_.engine().dropped(), dropped + 1);
  }
  void expect_no_start(JobId id, Placement placement) {
    const Job before = rig_.job(id);
    expect_dropped(Start{.job = id, .placement = std::move(placement)});
    EXPECT_EQ(rig_.job(id), before);
  }
  Placement on(std::initializer_list<std::uint32_t> gpus) const {
    return test::on(rig_.cluster(), gpus);
  }

  Rig rig_;
};

TEST_F(BadPolicy, StartsOnAFullGpu) {
  rig_.run(shared(1, 20_GiB), {0});
  expect_no_start(rig_.submit(shared(1, 20_GiB)), on({0}));
}

TEST_F(BadPolicy, StartsTwice) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  const Start start{.job = id, .placement = on({0})};
  const Effects& effects = rig_.decide({start, start});
  EXPECT_NE(only<Launch>(effects), nullptr);
  EXPECT_EQ(effects.decisions.size(), 1U);
  EXPECT_EQ(rig_.engine().dropped(), 1U);
  EXPECT_EQ(rig_.gpu(0).tenants, 1);
}

TEST_F(BadPolicy, FillsAGpuTwiceInOnePass) {
  const JobId first = rig_.submit(shared(1, 20_GiB));
  const JobId second = rig_.submit(shared(1, 20_GiB));
  rig_.decide(
      {Start{.job = first, .placement = on({0})}, Start{.job = second, .placement = on({0})}});
  EXPECT_EQ(rig_.state(first), JobState::Starting);
  EXPECT_EQ(rig_.state(second), JobState::Queued);
  EXPECT_EQ(rig_.engine().dropped(), 1U);
}

TEST_F(BadPolicy, UsesMemoryThatIsNotReleasedYet) {
  const JobId victim = rig_.run(shared(1, 20_GiB), {0});
  const JobId id = rig_.submit(shared(1, 20_GiB));
  const Effects& effects =
      rig_.decide({Preempt{.job = victim}, Start{.job = id, .placement = on({0})}});
  EXPECT_EQ(effects.decisions.size(), 1U);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
}

TEST_F(BadPolicy, GivesGpusOutOfOrder) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  expect_no_start(id, {.gpus = {GpuId(1), GpuId(0)}, .host = NodeId(0)});
  expect_no_start(id, {.gpus = {GpuId(1), GpuId(1)}, .host = NodeId(0)});
}

TEST_F(BadPolicy, NamesAnotherHost) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  expect_no_start(id, {.gpus = {GpuId(2)}, .host = NodeId(0)});
  expect_no_start(rig_.submit(shared(0, Bytes(0))), {.gpus = {}, .host = NodeId(2)});
}

TEST_F(BadPolicy, NamesAGpuThatIsNotThere) {
  expect_no_start(rig_.submit(shared(1, 4_GiB)), {.gpus = {GpuId(4)}, .host = NodeId(0)});
  expect_no_start(rig_.submit(shared(2, 4_GiB)),
                  {.gpus = {GpuId(0), GpuId(~0U)}, .host = NodeId(0)});
}

TEST_F(BadPolicy, GivesAnotherNumberOfGpus) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  expect_no_start(id, on({}));
  expect_no_start(id, on({0}));
  expect_no_start(id, on({0, 1, 2}));
}

TEST_F(BadPolicy, GivesAGpuOfTheWrongType) {
  Cluster cluster = nodes_of(1, 1);
  cluster.add_node({.name = "other", .gpus = 1, .vram = 24_GiB, .type = "other"});
  Rig rig(std::move(cluster));
  JobSpec spec = shared(1, 4_GiB);
  spec.request.gpu.types = 2;
  const JobId id = rig.submit(spec);
  rig.start(id, {0});
  EXPECT_EQ(rig.engine().dropped(), 1U);
  rig.start(id, {1});
  EXPECT_EQ(rig.state(id), JobState::Starting);
}

TEST_F(BadPolicy, NamesAnUnknownJob) {
  const JobId nobody(99);
  expect_dropped(Start{.job = nobody, .placement = on({0})});
  expect_dropped(Preempt{.job = nobody});
  expect_dropped(Migrate{.job = nobody, .placement = on({0})});
  expect_dropped(Reserve{.holds = {Hold{.job = nobody, .ask = {}, .placement = on({0})}}});
  expect_dropped(Classify{nobody});
  expect_dropped(Reject{nobody});
}

TEST_F(BadPolicy, PreemptsWhoDoesNotRun) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  expect_dropped(Preempt{.job = id});
  expect_dropped(Migrate{.job = id, .placement = on({0})});
  rig_.start(id, {0});
  rig_.preempt(id, PreemptHow::Suspend);
  expect_dropped(Preempt{.job = id});
  EXPECT_EQ(rig_.job(id).preemptions, 1);
}

TEST_F(BadPolicy, KeepsAPlaceForARunningJob) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  expect_dropped(Reserve{.holds = {Hold{.job = id, .ask = {}, .placement = on({0})}}});
}

TEST_F(BadPolicy, KeepsAPlaceOfTheWrongSize) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  expect_dropped(Reserve{.holds = {Hold{.job = id, .ask = {}, .placement = on({0})}}});
}

TEST_F(BadPolicy, OneBadHoldSpoilsTheReserveAndKeepsThoseBefore) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  const Hold good{.job = id, .ask = {}, .placement = on({0})};
  rig_.decide({Reserve{.holds = {good}}});
  expect_dropped(Reserve{.holds = {good, Hold{.job = JobId(99), .ask = {}, .placement = on({1})}}});
  EXPECT_EQ(rig_.engine().view().holds().size(), 1U);
}

TEST_F(BadPolicy, RejectsWhoRunsOrIsHeld) {
  expect_dropped(Reject{rig_.run(shared(1, 4_GiB), {0})});
  rig_.tell({Submitted{.job = JobId(9), .spec = shared(1, 4_GiB), .held = true}});
  expect_dropped(Reject{JobId(9)});
}

TEST_F(BadPolicy, GoodDecisionsStandBesideBadOnes) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  const Effects& effects =
      rig_.decide({Preempt{.job = id}, Start{.job = id, .placement = on({0})}, Reject{JobId(99)}});
  EXPECT_NE(only<Launch>(effects), nullptr);
  ASSERT_EQ(effects.decisions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Start>(effects.decisions[0]));
  EXPECT_EQ(rig_.engine().dropped(), 2U);
}

}  // namespace
}  // namespace berth::test
