// Goal: what sacct prints becomes the jobs that ran, whichever columns were asked for.
// Method: small texts in sacct's form, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expected<Trace> sacct(const std::string& text) {
  return read_sacct({.text = text, .file = "acct"});
}
std::string sacct_error(const std::string& text) {
  const auto trace = sacct(text);
  return trace ? "none" : trace.error().message;
}

TEST(Sacct, ReadsAJobAndNotItsSteps) {
  const auto trace = sacct(
      "JobID|User|JobName|Submit|ElapsedRaw|Timelimit|AllocTRES|State\n"
      "17|ann|train|2024-03-01T12:00:00|3600|1-00:00:00|"
      "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1|COMPLETED\n"
      "17.batch||batch|2024-03-01T12:00:05|3600||cpu=8,mem=64G,node=1|COMPLETED\n"
      "18_4|bob|sweep|2024-03-01T12:01:00|60|UNLIMITED|cpu=2,gres/gpu=1,mem=512M|FAILED\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->left_out, 0U) << "a step is no job";
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.name, "17");
  EXPECT_EQ(job.submit, kStart) << "the first is the origin";
  EXPECT_EQ(job.duration, hours(1));
  EXPECT_EQ(job.spec.time_limit, hours(24));
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(job.spec.request.cpu, CpuMilli(8000));
  EXPECT_EQ(job.spec.request.host, Bytes(std::int64_t{64} << 30));
  EXPECT_THAT(job.types, ElementsAre("a100"));
  EXPECT_EQ(job.user, "ann");
  EXPECT_EQ(trace->jobs[1].submit, kStart + seconds(60));
  EXPECT_EQ(trace->jobs[1].spec.time_limit, kForever);
  EXPECT_EQ(trace->jobs[1].spec.user, UserId(2));
}

TEST(Sacct, FindsTheRunTimeWhereItIs) {
  const auto elapsed = sacct("JobID|Submit|Elapsed|ReqTRES\n1|2024-03-01T00:00:00|1-02:03:04|\n");
  ASSERT_TRUE(elapsed) << elapsed.error().message;
  EXPECT_EQ(elapsed->jobs.at(0).duration, hours(26) + minutes(3) + seconds(4));
  EXPECT_EQ(elapsed->jobs.at(0).spec.request.gpu.count, GpuCount(0)) << "a job without a GPU";
  const auto ends = sacct(
      "JobIDRaw|Submit|Start|End|ReqTRES\n"
      "1|2024-02-28T23:00:00|2024-02-28T23:59:00|2024-03-01T00:01:00|gres/gpu:v100=4\n"
      "2|2024-02-28T23:00:00|Unknown|Unknown|gres/gpu=1\n");
  ASSERT_TRUE(ends) << ends.error().message;
  ASSERT_EQ(ends->jobs.size(), 1U) << "the other never started";
  EXPECT_EQ(ends->jobs[0].duration, hours(24) + minutes(2));
  EXPECT_EQ(ends->jobs[0].spec.request.gpu.count, GpuCount(4)) << "only by its type";
}

TEST(Sacct, WhatWasGotCountsBeforeWhatWasAsked) {
  const auto trace = sacct(
      "JobID|Submit|ElapsedRaw|ReqTRES|AllocTRES\n"
      "1|2024-03-01T00:00:00|5|gres/gpu=1|gres/gpu=2\n"
      "2|2024-03-01T00:00:00|5|gres/gpu=3|\n"
      "3|2024-03-01T00:00:00|0|gres/gpu=3|\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.count, GpuCount(3));
  EXPECT_EQ(left_out_as(*trace, kNeverRan), 1U);
  EXPECT_EQ(trace->left_out, 1U) << "it never ran";
}

TEST(Sacct, PartsOfGpusAreReadOrToldOf) {
  const auto trace = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES\n"
      "1|2026-03-02T10:00:00|600|billing=1,cpu=1,gres/shard=1,mem=1000M\n"
      "2|2026-03-02T10:00:01|600|cpu=1,gres/shard:a100=2,gres/shard=2\n"
      "3|2026-03-02T10:00:02|600|cpu=1,gres/gpu:a100_2g.20gb=3,gres/gpu=3\n"
      "4|2026-03-02T10:00:03|600|cpu=1,gres/mps=25\n"
      "5|2026-03-02T10:00:04|600|cpu=8,gres/gpu=2,gres/gpumem=0,gres/gpuutil=0\n"
      "6+0|2026-03-02T10:00:05|600|cpu=8\n6+1|2026-03-02T10:00:05|600|gres/gpu=1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 7U);
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.count, GpuCount(0));
  const GpuRequest& slice = trace->jobs[2].spec.request.gpu;
  EXPECT_EQ(slice.count, GpuCount(3));
  EXPECT_EQ(slice.milli, GpuMilli(285));
  EXPECT_EQ(slice.vram, Bytes(std::int64_t{20} << 30));
  EXPECT_EQ(slice.sharing, Sharing::Shared);
  EXPECT_THAT(trace->jobs[2].types, ElementsAre("a100"));
  const GpuRequest& mps = trace->jobs[3].spec.request.gpu;
  EXPECT_EQ(mps.count, GpuCount(1));
  EXPECT_EQ(mps.milli, GpuMilli(250));
  EXPECT_EQ(mps.sharing, Sharing::Shared);
  EXPECT_EQ(trace->jobs[4].spec.request.gpu.count, GpuCount(2));
  EXPECT_THAT(trace->warnings,
              ElementsAre("2 jobs have gres/shard and are read as jobs without a GPU: sacct does "
                          "not say how many shards a GPU has",
                          "2 parts of heterogeneous jobs are read as jobs of their own"));
}

TEST(Sacct, ANameMayHaveBars) {
  const auto trace = sacct(
      "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n"
      "1|a|b||c|2026-03-02T10:00:00|600|gres/gpu=1\n"
      "2|plain|2026-03-02T10:00:00|600|gres/gpu=2\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].model, "a|b||c");
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.count, GpuCount(2));
  EXPECT_THAT(sacct_error("JobID|Submit|ElapsedRaw|AllocTRES\n1|2|2026-03-02T10:00:00|600|\n"),
              HasSubstr("5 fields, expected 4"));
}

TEST(Sacct, TheTableForPeopleIsReadByItsWidths) {
  const std::string table =
      "JobID           JobName              Submit    Elapsed            AllocTRES \n"
      "------------ ---------- ------------------- ---------- -------------------- \n"
      "17               tr|ain 2026-03-02T10:00:00   00:10:00     cpu=8,gres/gpu=2 \n"
      "17.batch          batch 2026-03-02T10:00:00   00:10:00                cpu=8 \n"
      "18_1              sweep 2026-03-02T10:01:00 1-00:00:00                cpu=1 \n";
  const auto trace = sacct(table);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[0].model, "tr_ain");
  EXPECT_EQ(trace->jobs[1].duration, hours(24));
  EXPECT_EQ(sacct_error(table + "19                sweep 2026-03-02T10:01:00 1-00:00:00 "
                                "cpu=8,gres/gpu=2,me+ \n"),
            "acct:6: column 'AllocTRES': 'cpu=8,gres/gpu=2,me+', expected all of it, as sacct "
            "prints it with -P");
}

TEST(Sacct, JobsThatEndedWithinASecondRanForOne) {
  const auto trace = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES|State\n"
      "1|2024-03-01T00:00:00|0|gres/gpu=1|FAILED\n"
      "2|2024-03-01T00:00:00|0|gres/gpu=1|CANCELLED by 1000\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->jobs[0].duration, seconds(1));
  EXPECT_EQ(trace->left_out, 1U) << "it never ran";
}

TEST(Sacct, MemoryMayHaveDecimals) {
  const auto trace = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES\n"
      "1|2024-03-01T00:00:00|5|mem=187.50G\n2|2024-03-01T00:00:00|5|mem=1.5T\n"
      "3|2024-03-01T00:00:00|5|mem=0.25T\n4|2024-03-01T00:00:00|5|mem=0\n");
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("acct:5"));
  const auto good = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES\n"
      "1|2024-03-01T00:00:00|5|mem=187.50G\n2|2024-03-01T00:00:00|5|mem=1.5T\n"
      "3|2024-03-01T00:00:00|5|mem=0.25T\n4|2024-03-01T00:00:00|5|mem=0M\n");
  ASSERT_TRUE(good) << good.error().message;
  std::vector<std::int64_t> mebibytes;
  for (const TraceJob& job : good->jobs) {
    mebibytes.push_back(job.spec.request.host.raw() >> 20);
  }
  EXPECT_THAT(mebibytes, ElementsAre(192'000, 1'572'864, 262'144, 0));
}

TEST(Sacct, JobsThatHaveNotEndedAreCounted) {
  const auto trace = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES|State\n"
      "1|2024-03-01T00:00:00|5|gres/gpu=1|COMPLETED\n"
      "2|2024-03-01T00:00:00|5|gres/gpu=1|CANCELLED by 1000\n"
      "3|2024-03-01T00:00:00|5|gres/gpu=1|OUT_OF_MEMORY\n"
      "4|2024-03-01T00:00:00|5|gres/gpu=1|RUNNING\n"
      "4.batch|2024-03-01T00:00:00|5|gres/gpu=1|RUNNING\n"
      "5|2024-03-01T00:00:00|0|gres/gpu=1|PENDING\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->left_out, 2U);
  EXPECT_EQ(left_out_as(*trace, kNotEnded), 2U);
  const auto ends = sacct(
      "JobID|Submit|ElapsedRaw|AllocTRES|End\n"
      "1|2024-03-01T00:00:00|5|gres/gpu=1|Unknown\n"
      "2|2024-03-01T00:00:00|5|gres/gpu=1|2024-03-01T00:00:05\n");
  ASSERT_TRUE(ends) << ends.error().message;
  EXPECT_EQ(ends->jobs.size(), 1U);
  EXPECT_EQ(left_out_as(*ends, kNotEnded), 1U);
}

TEST(Sacct, WhatIsNoListNoLimitAndNoStateIsRefused) {
  const std::string header = "JobID|Submit|ElapsedRaw|AllocTRES|Timelimit|State\n";
  const auto row = [&](const std::string& rest) {
    return sacct_error(header + "1|2024-03-01T00:00:00|5|" + rest + "\n");
  };
  EXPECT_EQ(row("abc|1:00|FAILED"),
            "acct:2: column 'AllocTRES': 'abc', expected a list such as cpu=8,gres/gpu=2,mem=64G");
  EXPECT_THAT(row("cpu=1,=5|1:00|FAILED"), HasSubstr("expected a list such as"));
  EXPECT_EQ(row("cpu=1|xx|FAILED"),
            "acct:2: column 'Timelimit': 'xx', expected a time such as 1-02:03:04, UNLIMITED or "
            "Partition_Limit");
  EXPECT_EQ(row("cpu=1|1:00|DONE"),
            "acct:2: column 'State': 'DONE', expected a state of Slurm's such as COMPLETED or "
            "RUNNING");
  for (const char* none : {"", "UNLIMITED", "Partition_Limit"}) {
    EXPECT_EQ(row("cpu=1|" + std::string(none) + "|FAILED"), "none");
  }
}

TEST(Sacct, NamesWhatIsWrong) {
  const std::string header = "JobID|Submit|ElapsedRaw|AllocTRES\n";
  EXPECT_THAT(sacct_error(header + "1|yesterday|5|gres/gpu=1\n"),
              HasSubstr("acct:2: column 'Submit': 'yesterday', expected a time such as"));
  EXPECT_THAT(sacct_error(header + "1|2024-03-01T00:00:00|5|gres/gpu=x\n"),
              HasSubstr("column 'AllocTRES': 'gres/gpu=x', expected gres/gpu=N"));
  EXPECT_THAT(sacct_error(header + "1|2024-03-01T00:00:00|5|cpu=-1\n"),
              HasSubstr("expected cpu=N"));
  EXPECT_THAT(sacct_error(header + "1|2024-03-01T00:00:00|5|mem=9\n"),
              HasSubstr("expected mem=SIZE"));
  EXPECT_THAT(sacct_error(header + "1|2024-03-01T00:00:00|5|mem=2000T\n"), HasSubstr("mem=SIZE"));
  EXPECT_THAT(sacct_error("JobID|Submit|Elapsed|AllocTRES\n1|2024-03-01T00:00:00|long|\n"),
              HasSubstr("column 'Elapsed': 'long', expected a time such as 1-02:03:04"));
  EXPECT_EQ(sacct_error("JobID|Submit|AllocTRES\n"), "acct:1: no column 'Elapsed' in the header");
  EXPECT_EQ(sacct_error("JobID|Submit|Elapsed\n"), "acct:1: no column 'ReqTRES' in the header");
  EXPECT_EQ(sacct_error("Submit|Elapsed|ReqTRES\n"), "acct:1: no column 'JobID' in the header");
}

}  // namespace
}  // namespace berth::trace
