// Goal: lines of Slurm's scontrol are read as they are meant. Method: parts of what 22.05.8 and
// 24.11.5 printed.
#include "core/text/slurm_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

TEST(SlurmRecords, NamesMayLookLikeWhatFollowsThem) {
  const auto records = slurm_records(
      "JobId=7 JobName=lr=0.1 Nodes=n9 JobState=DONE UserId=eve(1000) GroupId=eve(1000) "
      "JobState=RUNNING\n"
      "JobId=8 ArrayJobId=8 JobName=two\nlines\n UserId=bob(1001) JobState=PENDING\n"
      "JobId=9 JobName=a\nJobId=7 JobState=FAILED UserId=eve(1000) JobState=PENDING "
      "Comment=b\nc\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].name, "lr=0.1 Nodes=n9 JobState=DONE");
  EXPECT_EQ(records[0].text, "JobId=7 UserId=eve(1000) GroupId=eve(1000) JobState=RUNNING");
  EXPECT_EQ(records[1].name, "two lines ");
  EXPECT_EQ(slurm_word(slurm_words(records[1].text), "ArrayJobId"), "8");
  EXPECT_EQ(records[2].text, "JobId=9 UserId=eve(1000) JobState=PENDING Comment=b c");
}

TEST(SlurmRecords, WhatIsNoneIsPassedOver) {
  EXPECT_TRUE(slurm_records("").empty());
  EXPECT_TRUE(slurm_records("No jobs in the system\nJobId= JobName=a\n").empty());
  EXPECT_EQ(slurm_records("JobId=7 JobName=cut off")[0].text, "JobId=7 JobName=cut off");
}

TEST(SlurmNames, AreToldApart) {
  EXPECT_THAT(slurm_names("n[1,3-4],m7"), ElementsAre("n1", "n3", "n4", "m7"));
  EXPECT_THAT(slurm_names("gpu[08-10]-ib"), ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib"));
  EXPECT_THAT(slurm_names("n[1-"), ElementsAre("n[1-"));
  EXPECT_THAT(slurm_names("n[x]"), ElementsAre());
  EXPECT_THAT(slurm_names(""), ElementsAre());
}

TEST(SlurmHandle, OfATaskIsTheTasks) {
  EXPECT_EQ(slurm_handle(slurm_words("JobId=8 JobName=a")), "8");
  EXPECT_EQ(slurm_handle(slurm_words("JobId=8 ArrayJobId=8 ArrayTaskId=3")), "8_3");
  EXPECT_EQ(slurm_handle(slurm_words("JobId=8 ArrayJobId=8 ArrayTaskId=2-9")), "8_[2-9]");
}

TEST(SlurmHoldings, AreOfEachNode) {
  const auto holds = slurm_holdings(
      "JobId=6 Nodes=n1 CPU_IDs=58 Mem=100 GRES=shard:20(IDX:3) "
      "Nodes=n[2-3] CPU_IDs=63 Mem=100 GRES=shard:10(10/80,0/80),gpu:1(IDX:1) X=1");
  ASSERT_EQ(holds.size(), 5U);
  EXPECT_EQ(holds[0].node, "n1");
  EXPECT_EQ(holds[0].gpu, 3U);
  EXPECT_EQ(holds[0].gib, 20);
  EXPECT_EQ(holds[1].gib, 10);
  EXPECT_EQ(holds[4].node, "n3");
  EXPECT_EQ(holds[4].gpu, 1U);
  EXPECT_EQ(holds[4].gib, 0);
}

}  // namespace
}  // namespace berth
