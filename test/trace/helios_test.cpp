// Goal: the logs of Helios and Acme become the GPU jobs that ran, and the rest is counted by kind.
// Method: small texts with the headers that the data sets document, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kHeliosHeader =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
    "queue\n";
constexpr std::string_view kKalosHeader =
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,"
    "start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n";

Expected<Trace> helios_rows(const std::string& rows, BadRows bad_rows = BadRows::Refuse) {
  return read_helios(
      {.text = std::string(kHeliosHeader) + rows, .file = "log", .bad_rows = bad_rows});
}

TEST(Helios, ReadsTheJobsThatRanOnGpus) {
  const auto trace = helios_rows(
      "1,u1,vcA,1,4,1,COMPLETED,2020-04-01 00:02:11,2020-04-01 00:02:40,2020-04-01 01:02:40,3600,"
      "29\n"
      "2,u2,vcB,16,64,2,CANCELLED,2020-04-01 00:01:11,2020-04-01 02:04:40,2020-04-02 02:04:40,"
      "86400,7409\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->left_out, 0U);
  const TraceJob& first = trace->jobs[0];
  EXPECT_EQ(first.name, "2") << "it was submitted before the other";
  EXPECT_EQ(first.submit, kStart);
  EXPECT_EQ(first.duration, hours(24));
  EXPECT_EQ(first.spec.request.gpu.count, GpuCount(16));
  EXPECT_EQ(first.spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_EQ(first.spec.request.cpu, CpuMilli(64'000));
  EXPECT_EQ(first.user, "u2");
  EXPECT_EQ(first.spec.group.text(), "vcB");
  EXPECT_EQ(trace->jobs[1].submit, kStart + minutes(1));
  EXPECT_EQ(trace->jobs[1].spec.user, UserId(1));
}

TEST(Helios, CountsByKindWhatIsNoJobThatRan) {
  const auto trace = helios_rows(
      "1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:00:05,0,5\n"
      "2,u,v,1,4,1,CANCELLED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:00:05,0,5\n"
      "3,u,v,1,4,1,CANCELLED,2020-04-01 00:00:00,None,2020-04-01 00:00:05,0,5\n"
      "4,u,v,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:01:05,60,5\n"
      "5,u,v,0,4,1,RUNNING,2020-04-01 00:00:00,2020-04-01 00:00:05,,0,5\n"
      "6,u,v,2,4,1,RUNNING,2020-04-01 00:00:00,2020-04-01 00:00:05,,0,5\n"
      "7,u,v,2,4,1,TIMEOUT,2020-04-01 00:00:00,2020-04-01 00:00:05,nan,90,5\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].duration, seconds(1)) << "it ended within its first second";
  EXPECT_EQ(trace->jobs[1].duration, seconds(90)) << "only its duration is said";
  EXPECT_EQ(trace->left_out, 5U);
  EXPECT_EQ(left_out_as(*trace, kNeverRan), 2U);
  EXPECT_EQ(left_out_as(*trace, kWithoutGpu), 2U);
  EXPECT_EQ(left_out_as(*trace, kNotEnded), 1U);
}

TEST(Helios, AcmeSaysItsZoneAndTheMemoryOfAPod) {
  const auto trace =
      read_helios({.text = std::string(kKalosHeader) +
                           "a,u,8,64,960,1000,100.0,Pretrain,FAILED,2023-05-17 11:00:58+00:00,"
                           "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,,,18,10.0,1152.0\n"
                           "b,u,1,1,16,0.5,100.0,Other,COMPLETED,2023-05-17 20:01:58+08:00,"
                           "2023-05-17 20:01:58+08:00,2023-05-17 20:02:58+08:00,,,60,0.0,60.0\n",
                   .file = "kalos"});
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].duration, seconds(8)) << "the column counts the wait, too";
  EXPECT_EQ(trace->jobs[0].model, "Pretrain");
  EXPECT_EQ(trace->jobs[0].spec.request.host, Bytes(std::int64_t{8000} << 30));
  EXPECT_EQ(trace->jobs[1].submit, kStart + hours(1) + minutes(1)) << "12:01:58 of UTC";
  EXPECT_EQ(trace->jobs[1].spec.request.host, Bytes(512 << 20));
  EXPECT_THAT(trace->warnings, ElementsAre());
}

TEST(Helios, WarnsWhereOnlySomeTimesSayTheirZone) {
  const auto trace = helios_rows(
      "1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:00:06,1,5\n"
      "2,u,v,1,4,1,FAILED,2020-04-01 08:00:00+08:00,2020-04-01 00:00:05Z,2020-04-01 00:00:06Z,1,"
      "5\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[1].submit, kStart);
  EXPECT_THAT(
      trace->warnings,
      ElementsAre("column 'submit_time': 1 of 2 times say their zone, the others are read as UTC"));
}

TEST(Helios, TheGpusByDayAreNodesOfEight) {
  const auto cluster = read_cluster(
      "date,vcA,vcB,total\n2020-04-01,8,16,24\n2020-04-02,8,28,36\n2020-04-03,0,8,8\n", "days");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 4U) << "the day with most, in whole nodes";
  EXPECT_EQ(cluster->gpus().size(), 32U);
  EXPECT_EQ(error_of(read_cluster("date,vcA,total\n2020-04-01,0,0\n", "days")),
            "days: no day has the GPUs of a node, 8");
}

TEST(Helios, NamesWhatIsWrong) {
  EXPECT_EQ(error_of(helios_rows("1,u,v,1,4,1,DONE,,,,0,5\n")),
            "log:2: column 'state': 'DONE', expected a state of Slurm's such as COMPLETED or "
            "RUNNING");
  EXPECT_EQ(error_of(helios_rows("1,u,v,-1,4,1,FAILED,,,,0,5\n")),
            "log:2: column 'gpu_num': '-1', expected an integer from 0 to 1000000");
  EXPECT_EQ(error_of(helios_rows("1,u,v,1,4,1,FAILED,1 April,2020-04-01 00:00:05,2020-04-01 "
                                 "00:00:06,1,5\n")),
            "log:2: column 'submit_time': '1 April', expected a time such as 2020-04-01 00:02:11 "
            "or 2023-03-01 00:18:22+08:00");
  EXPECT_EQ(error_of(helios_rows("1,u,v,1,4,1,FAILED,,2020-04-01 00:00:05,2020-04-01 00:00:06,1,"
                                 "5\n")),
            "log:2: column 'submit_time': '', expected the time of the submission");
  EXPECT_THAT(error_of(helios_rows("1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:05,"
                                   "2020-04-01 00:00:04,1,5\n")),
              HasSubstr("column 'end_time': '2020-04-01 00:00:04', expected a time not before"));
}

}  // namespace
}  // namespace berth::trace
