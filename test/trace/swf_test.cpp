// Goal: the Standard Workload Format is read and written.
// Method: small texts; what is written is read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

Expected<Trace> swf(const std::string& text) { return read_swf({.text = text, .file = "w.swf"}); }

TEST(Swf, ProcessorsAreGpus) {
  const auto trace =
      swf("; Version: 2.2\n"
          ";\n"
          "  1   10  5  100  4 -1 -1  8 200 -1 1  3 1 7 -1 -1 -1 -1\n"
          "2 20 0 50 -1 -1 -1 2 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.submit, kStart + seconds(10));
  EXPECT_EQ(job.duration, seconds(100));
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(4)) << "what it got, not what it asked";
  EXPECT_EQ(job.spec.time_limit, seconds(200));
  EXPECT_EQ(job.user, "3");
  EXPECT_EQ(job.model, "7");
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[1].spec.time_limit, kForever);
}

TEST(Swf, ThinkTimeIsOfThoseThatComeAfterAnother) {
  const auto trace =
      swf("1 0 -1 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 60\n"
          "2 0 -1 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 1 60\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].think, Duration(0));
  EXPECT_EQ(trace->jobs[1].after, std::vector<std::string>{"1"});
  EXPECT_EQ(trace->jobs[1].think, seconds(60));
}

TEST(Swf, HasNoColumnsToRename) {
  const std::vector<ColumnName> columns = {{"job", "id"}};
  const auto trace = read_swf({.text = "1 0 0 9 4\n", .file = "log", .columns = columns});
  ASSERT_FALSE(trace);
  EXPECT_TRUE(trace.error().message.starts_with("log:1: no column 'id' for --columns job; its"));
}

TEST(Swf, JobsThatNeverRanAreLeftOut) {
  const auto trace =
      swf("1 0 -1 -1 4 -1 -1 4 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n"
          "2 0 -1 9 -1 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n"
          "3 0 -1 9 0 -1 -1 4 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE(trace->jobs.empty());
  EXPECT_EQ(trace->left_out, 3U);
}

TEST(Swf, ThePartsOfAJobAreNoJobs) {
  const auto trace =
      swf("1 0 -1 9 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
          "1 0 -1 4 4 -1 -1 4 -1 -1 2 -1 -1 -1 -1 -1 -1 -1\n"
          "1 5 -1 5 4 -1 -1 4 -1 -1 3 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->left_out, 2U);
}

TEST(Swf, NamesWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const auto trace = swf(text);
    return trace ? "none" : trace.error().message;
  };
  EXPECT_EQ(error("; a comment\n1 2 3\n"), "w.swf:2: 3 fields, expected 18");
  EXPECT_THAT(error("1 x 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("w.swf:1: column 'submit time': 'x', expected seconds"));
  EXPECT_THAT(error("1 0 0 9 many -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("column 'allocated processors': 'many'"));
}

TEST(Swf, WhatIsWrittenIsReadAgain) {
  const auto trace =
      swf("9 10 0 100 4 -1 -1 4 200 -1 1 30 -1 -1 -1 -1 -1 -1\n"
          "5 20 0 50 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace);
  const std::string text = write_swf(*trace);
  EXPECT_EQ(text,
            "; SWFversion: 2.2\n"
            "; Note: written by berth; processors are GPUs\n"
            "; MaxJobs: 2\n"
            "1 10 -1 100 4 -1 -1 4 200 -1 1 1 -1 -1 -1 -1 -1 -1\n"
            "2 20 -1 50 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  const auto again = swf(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_swf(*again), text);
}

TEST(Swf, TimesAreWrittenAsWholeSeconds) {
  auto trace = swf("1 10.9 0 1.2 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(write_swf(*trace), HasSubstr("\n1 10 -1 2 1 "));
}

}  // namespace
}  // namespace berth::trace
