// Goal: what agents tell is counted once, for the job that holds it, and never as less than what
// Slurm gave away; an agent that is silent is named. Method: reports by hand.
#include "slurm/gauges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "core/view.hpp"

namespace berth::slurm {
namespace {

using namespace literals;
using node::NodeGpu;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kNow = kStart + seconds(1'000'000);

/// Jobs below 100 are berth's and have 20 GiB; 50 and above are over.
Account account(std::map<SlurmId, Bytes> strangers = {}) {
  return {.capacity = 76_GiB,
          .context = 512_MiB,
          .strangers = std::move(strangers),
          .has_processes = [](SlurmId job) { return job < 50 || job >= 100; },
          .granted = [](SlurmId job) { return job < 100 ? 20_GiB : 0_GiB; }};
}

std::map<SlurmId, Bytes> jobs_in(const live::Look& look) {
  std::map<SlurmId, Bytes> held;
  for (const GpuProcess& process : *look.sample->processes) {
    const auto* const of = std::get_if<OfJob>(&look.owners.at(process.pid));
    if (of != nullptr) held[static_cast<SlurmId>(of->job.value())] = *process.bytes;
  }
  return held;
}

Bytes foreign_in(const live::Look& look) {
  Bytes sum{0};
  for (const GpuProcess& process : *look.sample->processes) {
    const bool is_foreign = std::holds_alternative<OfStranger>(look.owners.at(process.pid));
    if (is_foreign) sum += *process.bytes;
  }
  return sum;
}

live::Look look(const NodeGpu& told, const Account& known = account()) {
  return look_of(GpuId(1), told, known, kNow);
}

TEST(LookOf, AJobHoldsWhatItsProcessesDo) {
  const auto seen = look({.usable = 76_GiB,
                          .used = 12_GiB,
                          .other = 1_GiB,
                          .jobs = {{.job = 7, .now = 11_GiB, .most = 11_GiB, .processes = 2}}});
  EXPECT_THAT(jobs_in(seen), ElementsAre(testing::Pair(7, 11_GiB)));
  EXPECT_EQ(foreign_in(seen), 1_GiB);
  EXPECT_EQ(seen.sample->used, 12_GiB);
  EXPECT_THAT(seen.sample->ended, IsEmpty());
}

TEST(LookOf, APeakBetweenTwoReportsIsToldAsThatOfAProcessThatEnded) {
  const auto seen =
      look({.usable = 76_GiB, .jobs = {{.job = 7, .now = 1_GiB, .most = 15_GiB, .processes = 1}}});
  ASSERT_EQ(seen.sample->ended.size(), 1U);
  EXPECT_EQ(seen.sample->ended[0].pid, seen.sample->processes->at(0).pid);
  EXPECT_EQ(seen.sample->ended[0].bytes, 15_GiB);
}

TEST(LookOf, AJobThatIsOverHoldsNothing) {
  const auto seen =
      look({.usable = 76_GiB, .jobs = {{.job = 50, .now = 9_GiB, .most = 9_GiB, .processes = 1}}});
  EXPECT_THAT(*seen.sample->processes, IsEmpty());
  EXPECT_EQ(seen.sample->used, 0_GiB);
}

TEST(LookOf, AStrangersJobHoldsItsShardsAtLeast) {
  const std::map<SlurmId, Bytes> strangers = {{100, 8_GiB}, {101, 8_GiB}};
  const auto seen = look({.usable = 76_GiB,
                          .jobs = {{.job = 100, .now = 2_GiB, .most = 2_GiB, .processes = 1},
                                   {.job = 101, .now = 30_GiB, .most = 30_GiB, .processes = 1}}},
                         account(strangers));
  EXPECT_EQ(foreign_in(seen), 38_GiB);
}

TEST(LookOf, ContextsAreOutOfWhatTheShardsLeave) {
  const std::vector<node::NodeHolding> jobs = {
      {.job = 7, .now = 20_GiB + 900_MiB, .most = 20_GiB + 900_MiB, .processes = 2},
      {.job = 8, .now = 22_GiB, .most = 22_GiB, .processes = 1}};
  const auto roomy = look({.usable = 80_GiB, .jobs = jobs});
  EXPECT_THAT(jobs_in(roomy),
              ElementsAre(testing::Pair(7, 20_GiB), testing::Pair(8, 22_GiB - 512_MiB)));
  const auto full = look({.usable = 76_GiB, .jobs = jobs});
  EXPECT_THAT(jobs_in(full),
              ElementsAre(testing::Pair(7, 20_GiB + 900_MiB), testing::Pair(8, 22_GiB)));
}

TEST(LookOf, WhatIsOutsideOfSlurmIsOutOfWhatTheShardsLeaveToo) {
  EXPECT_EQ(foreign_in(look({.usable = 80_GiB, .other = 3_GiB})), 0_GiB);
  EXPECT_EQ(foreign_in(look({.usable = 80_GiB, .other = 6_GiB})), 2_GiB);
}

TEST(LookOf, AGpuThatIsLostCannotBeSeen) {
  const auto seen = look({.problem = "GPU is lost", .is_lost = true});
  ASSERT_FALSE(seen.sample);
  EXPECT_EQ(seen.sample.error().message, "GPU is lost");
  EXPECT_EQ(seen.sample.error().code, ErrorCode::Lost);
  EXPECT_EQ(look({.problem = "Timeout"}).sample.error().code, ErrorCode::Io);
}

// ---- Reports -----------------------------------------------------------------------------------

class Reports : public testing::Test {
 protected:
  Reports() {
    cluster_.add_switch();
    for (const char* name : {"n1", "n2"}) {
      cluster_.add_node({.name = name, .gpus = 2, .vram = 76_GiB, .type = "g#"});
    }
  }
  /// Of the second node's, made so many seconds before it is seen.
  std::set<GpuId> hear(const std::string& gpus, std::int64_t age = 0) {
    const std::string at = std::to_string(micros(kNow) / 1'000'000 - age);
    return gauges_.on_text(NodeId(1), "berth-agent at=" + at + " every=30 " + gpus, kNow);
  }

  Cluster cluster_;
  Gauges gauges_{cluster_};
};

TEST_F(Reports, AreOfTheNodesGpus) {
  EXPECT_THAT(hear("gpu=0 used=1 gpu=1 job=7:10:10:1 gpu=2 job=7:10:10:1"),
              ElementsAre(GpuId(2), GpuId(3)));
  EXPECT_EQ(gauges_.told(GpuId(0)), nullptr);
  ASSERT_NE(gauges_.told(GpuId(2)), nullptr);
  EXPECT_EQ(gauges_.told(GpuId(2))->used, 1_MiB);
  EXPECT_THAT(gauges_.gpus_of(7), ElementsAre(GpuId(3)));
  hear("gpu=0 job=7:10:10:1 gpu=1");
  EXPECT_THAT(gauges_.gpus_of(7), ElementsAre(GpuId(2)));
  hear("gpu=0 gpu=1");
  EXPECT_THAT(gauges_.gpus_of(7), IsEmpty());
}

TEST_F(Reports, AreNewOnce) {
  EXPECT_THAT(hear("gpu=0"), ElementsAre(GpuId(2)));
  EXPECT_THAT(hear("gpu=0"), IsEmpty());
}

TEST_F(Reports, OfAnAgentThatIsLongGoneDoNotCount) {
  EXPECT_THAT(hear("gpu=0 used=5", 600), IsEmpty());
  EXPECT_EQ(gauges_.told(GpuId(2)), nullptr);
  EXPECT_EQ(gauges_.voices(kNow).telling, 0U);
  EXPECT_THAT(hear("gpu=0 used=6"), ElementsAre(GpuId(2)));  // it is back
}

TEST_F(Reports, ThatDoNotComeAreMissed) {
  hear("gpu=0");
  auto voices = gauges_.voices(kNow + seconds(90));
  EXPECT_EQ(voices.telling, 1U);
  EXPECT_THAT(voices.troubles, ElementsAre("n1: no agent"));
  voices = gauges_.voices(kNow + seconds(91));
  EXPECT_EQ(voices.telling, 0U);
  EXPECT_EQ(voices.missing, 1U);
  EXPECT_THAT(voices.troubles, ElementsAre("n1: no agent", "n2: its agent is silent for 91 s"));
}

TEST_F(Reports, ThatCannotBeReadAreNamed) {
  hear("gpu=0 used=much");
  EXPECT_THAT(gauges_.voices(kNow).troubles,
              ElementsAre("n1: no agent", "n2: a node's Extra: 'used=much' cannot be read"));
}

TEST_F(Reports, OthersWordsInTheFieldAreNone) {
  EXPECT_THAT(gauges_.on_text(NodeId(0), "rack 4", kNow), IsEmpty());
  EXPECT_EQ(gauges_.voices(kNow).missing, 2U);
}

}  // namespace
}  // namespace berth::slurm
