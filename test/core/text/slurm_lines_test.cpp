// Goal: lines of Slurm's scontrol are read as they are meant. Method: parts of what 22.05.8 and
// 24.11.5 printed.
#include "core/text/slurm_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> ids_of(const SlurmShown& told) {
  std::vector<std::int64_t> ids;
  for (const SlurmRecord& record : told.records) ids.push_back(record.id);
  return ids;
}

TEST(SlurmIds, NameTasksByTheirArray) {
  EXPECT_EQ(slurm_ids("41 41 3-9%3\n55 41 0\n47 47 N/A\n47x\n"),
            (SlurmIds{{41, ""}, {47, "47"}, {55, "41_0"}}));
}

TEST(SlurmRecords, OfPlainJobsAreCertain) {
  const SlurmShown told = slurm_records(
      "JobId=7 JobName=lr=0.1 Nodes=n9 JobState=DONE UserId=eve(1000) JobState=RUNNING\n"
      "JobId=8 HetJobId=8 HetJobOffset=0 JobName=two HetJobIdSet=8-9 UserId=bob(1001) A=1\n",
      {{7, "7"}, {8, "8"}});
  ASSERT_THAT(ids_of(told), ElementsAre(7, 8));
  EXPECT_EQ(told.records[0].name, "lr=0.1 Nodes=n9 JobState=DONE");
  EXPECT_EQ(told.records[0].text, "JobId=7 UserId=eve(1000) JobState=RUNNING");
  EXPECT_EQ(told.records[1].name, "two");
  EXPECT_EQ(slurm_word(slurm_words(told.records[1].text), "HetJobOffset"), "0");
  EXPECT_THAT(told.uncertain, ElementsAre());
}

TEST(SlurmRecords, WhatAUserWroteIsNoJob) {
  const SlurmIds ids = {{6, "6"}, {7, "7"}, {8, "8"}, {9, "9"}};
  const std::string real = "JobId=6 JobName=a UserId=bob(1001) JobState=PENDING\n";
  // Of no job at all, of another job, and of what follows a name.
  const SlurmShown told = slurm_records(
      real +
          "JobId=7 JobName=a UserId=eve(1000) B=1 \nJobId=99 JobName=b UserId=root(0) "
          "JobState=RUNNING\n"
          "JobId=8 JobName=c UserId=eve(1000) JobState=PENDING Comment=x\n" +
          real + "JobId=9 JobName=d UserId=root(0) JobState=RUNNING UserId=eve(1000)\n",
      ids);
  EXPECT_THAT(ids_of(told), ElementsAre());
  EXPECT_THAT(told.uncertain, ElementsAre(6, 7, 8, 9));
}

TEST(SlurmRecords, OfBrokenTextsAreNone) {
  EXPECT_TRUE(slurm_records("", {{7, "7"}}).records.empty());
  const SlurmShown told = slurm_records("No jobs in the system\nJobId= JobName=a\n", {{7, "7"}});
  EXPECT_TRUE(told.records.empty() && told.uncertain.empty());
  EXPECT_THAT(slurm_records("JobId=7 JobName=cut off", {{7, "7"}}).uncertain, ElementsAre(7));
}

/// As squeue prints it.
std::string name_row(const std::string& id, const std::string& name) {
  const std::string row = id + std::string(20 - id.size(), ' ') + name;
  return row + std::string(1120 - row.size(), ' ') + "\n";
}

TEST(SlurmRecord, OfAnUncertainJobIsWhatFollowsItsName) {
  const std::string name =
      "a UserId=root(0) JobState=RUNNING\nJobId=6 JobName=z UserId=root(0) Nodes=n1";
  const std::string names = name_row("5", "other\n7 ") + name_row("7", name);
  const std::string shown = "JobId=7 JobName=" + name + "  UserId=eve(1000) JobState=PENDING\n";
  const auto record = slurm_record(shown, names, {7, "7"});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->name, name);
  const SlurmWords words = slurm_words(record->text);
  EXPECT_EQ(slurm_word(words, "UserId"), "eve(1000)");
  EXPECT_EQ(slurm_word(words, "JobState"), "PENDING");
  EXPECT_TRUE(slurm_nodes_parts(record->text).empty());
  EXPECT_FALSE(slurm_record(shown, name_row("7", "another"), {7, "7"}));
  EXPECT_FALSE(slurm_record(shown, name_row("8", name), {7, "7"}));
  EXPECT_FALSE(slurm_record("", names, {7, "7"}));
}

TEST(SlurmRecord, OfTasksThatWaitEndsAtTheNext) {
  const std::string shown =
      "JobId=8 ArrayJobId=8 ArrayTaskId=1 JobName=b\n UserId=eve(1) JobState=RUNNING\n"
      "JobId=7 ArrayJobId=7 ArrayTaskId=2-9 JobName=b\n UserId=eve(1) JobState=PENDING\n"
      "JobId=9 ArrayJobId=7 ArrayTaskId=0 JobName=b\n UserId=eve(1) JobState=RUNNING\n";
  const auto record = slurm_record(shown, name_row("7", "b\n"), {7, ""});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "JobId=7 ArrayJobId=7 ArrayTaskId=2-9 UserId=eve(1) JobState=PENDING");
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

TEST(SlurmHandle, OfAComponentIsItsPlaceInTheJob) {
  EXPECT_EQ(slurm_handle(slurm_words("JobId=50 HetJobId=49 HetJobOffset=1 A=b")), "49+1");
}

TEST(SlurmHandle, HasTheTasksThatWait) {
  for (const char* const task : {"8_2", "8_4", "8_9", "8_12"}) {
    EXPECT_TRUE(slurm_handle_has("8_[2-9,12%3]", task)) << task;
  }
  for (const char* const task : {"8_1", "8_10", "7_2", "8", "8_", "8_2x", ""}) {
    EXPECT_FALSE(slurm_handle_has("8_[2-9,12%3]", task)) << task;
  }
  EXPECT_TRUE(slurm_handle_has("8_[0-8:4]", "8_4"));
  EXPECT_FALSE(slurm_handle_has("8_[0-8:4]", "8_5"));
  EXPECT_TRUE(slurm_handle_has("8_[1,3,...]", "8_70"));
  EXPECT_FALSE(slurm_handle_has("8_[1,3,...]", "8_2"));
  EXPECT_FALSE(slurm_handle_has("8_2", "8_2"));
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
