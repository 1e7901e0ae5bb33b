// Goal: Microsoft's own JSON of Philly becomes the jobs that ran, with their users.
// Method: small logs by the documented keys, good, cut and bent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

std::string attempt(const std::string& start, const std::string& end, const std::string& gpus) {
  return R"({"start_time": )" + start + R"(, "end_time": )" + end + R"(, "detail": [)" +
         (gpus.empty() ? "" : R"({"ip": "m1", "gpus": [)" + gpus + "]}") + "]}";
}
std::string philly_job(const std::string& id, const std::string& attempts) {
  return R"({"status": "Pass", "vc": "v", "jobid": ")" + id + R"(", "attempts": [)" + attempts +
         R"(], "submitted_time": "2017-10-07 01:00:00", "user": "ann"})";
}
Expected<Trace> philly_log(const std::string& jobs, BadRows bad_rows = BadRows::Refuse) {
  return read_philly({.text = "[" + jobs + "]", .file = "log", .bad_rows = bad_rows});
}

const std::string kHour =
    attempt(R"("2017-10-07 01:10:00")", R"("2017-10-07 02:10:00")", R"("gpu0", "gpu1")");

TEST(PhillyJson, AJobRunsAsLongAsItsAttemptsTogether) {
  const auto trace = philly_log(philly_job(
      "a",
      attempt(R"("2017-10-07 01:01:00")", R"("2017-10-07 01:02:00")", R"("gpu0")") + "," + kHour));
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 1U);
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.name, "a");
  EXPECT_EQ(job.submit, kStart);
  EXPECT_EQ(job.duration, hours(1) + minutes(1));
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(2)) << "those of the last";
  EXPECT_EQ(job.user, "ann");
  EXPECT_EQ(job.spec.group.text(), "v");
}

TEST(PhillyJson, CountsByKindWhatIsNoJobThatRan) {
  const auto trace = philly_log(
      philly_job("a", kHour) + "," + philly_job("b", "") + "," +
      philly_job("c", attempt(R"("2017-10-07 01:01:00")", "null", R"("gpu0")")) + "," +
      philly_job("d", attempt(R"("2017-10-07 01:01:00")", R"("None")", R"("gpu0")")) + "," +
      philly_job("e", attempt(R"("2017-10-07 01:01:00")", R"("2017-10-07 01:02:00")", "")));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->left_out, 4U);
  EXPECT_EQ(left_out_as(*trace, kNeverRan), 1U);
  EXPECT_EQ(left_out_as(*trace, kNotEnded), 2U);
  EXPECT_EQ(left_out_as(*trace, kWithoutGpu), 1U);
}

TEST(PhillyJson, NamesTheJobThatIsWrong) {
  EXPECT_EQ(error_of(philly_log(philly_job("a", kHour) + "," + philly_job("a", kHour))),
            "log: job 'a' is in the log already");
  EXPECT_EQ(error_of(philly_log(philly_job("", kHour))), "log: job '1' has no jobid");
  EXPECT_EQ(error_of(philly_log(philly_job("a", "7"))),
            "log: job 'a' has an attempt that is no object");
  EXPECT_EQ(error_of(philly_log(philly_job("a", attempt(R"("noon")", R"("noon")", R"("gpu0")")))),
            "log: job 'a' has the start_time 'noon', expected a time such as 2017-10-07 01:11:39");
  const auto skipped =
      philly_log(philly_job("a", kHour) + "," + philly_job("b", "7"), BadRows::Skip);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->jobs.size(), 1U);
  EXPECT_EQ(skipped->skipped, 1U);
}

TEST(PhillyJson, WhatIsCutShortOrAnotherJsonIsRefused) {
  const std::string whole = "[" + philly_job("a", kHour) + "]";
  std::string deep(100'000, '[');
  for (const std::string& text : {whole.substr(0, whole.size() - 1), whole.substr(0, 100), deep}) {
    EXPECT_THAT(error_of(read_philly_json({.text = text, .file = "log"})),
                HasSubstr("log: is not the JSON of Philly's cluster_job_log, or is cut short"));
  }
  const std::vector<ColumnName> columns = {{"job", "jobid"}};
  EXPECT_EQ(error_of(read_philly({.text = whole, .file = "log", .columns = columns})),
            "--columns: log is JSON, which has no columns");
}

}  // namespace
}  // namespace berth::trace
