// Goal: Alibaba's jobs with spot GPUs, and their nodes, are read by the documented columns.
// Method: small tables, good and bad; the published nodes where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/error.hpp"
#include "trace/formats.hpp"
#include "trace/published.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;

Expected<Trace> spot(const std::string& rows) {
  return read_spot({.text = "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,"
                            "submit_time,duration,job_type\n" +
                            rows,
                    .file = "jobs"});
}

TEST(Spot, AJobHasTheGpusOfAllItsWorkers) {
  const auto trace = spot(
      "1,57,A100-SXM4-80GB,15,2,16,30,41060,Spot\n"
      "2,13,A10,8.5,0.5,1,20,100,HP\n"
      "3,13,A10,8,0,4,40,100,HP\n"
      "4,13,A10,8,1,1,40,,HP\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  const TraceJob& part = trace->jobs[0];
  EXPECT_EQ(part.name, "2");
  EXPECT_EQ(part.spec.priority, 1) << "before spot jobs";
  EXPECT_EQ(part.spec.request.gpu.milli, GpuMilli(500));
  EXPECT_EQ(part.spec.request.gpu.sharing, Sharing::Shared);
  EXPECT_EQ(part.spec.request.cpu, CpuMilli(8500));
  const TraceJob& gang = trace->jobs[1];
  EXPECT_EQ(gang.submit, kStart + seconds(30));
  EXPECT_EQ(gang.duration, seconds(41'060));
  EXPECT_EQ(gang.spec.request.gpu.count, GpuCount(32));
  EXPECT_EQ(gang.spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_EQ(gang.spec.request.cpu, CpuMilli(240'000));
  EXPECT_EQ(gang.spec.priority, 0);
  EXPECT_EQ(gang.user, "57");
  EXPECT_THAT(gang.types, ElementsAre("A100-SXM4-80GB"));
  EXPECT_EQ(left_out_as(*trace, kWithoutGpu), 1U);
  EXPECT_EQ(left_out_as(*trace, kNotEnded), 1U);
}

TEST(Spot, NamesWhatIsWrong) {
  EXPECT_EQ(error_of(spot("1,57,A10,15,2,16,30,41060,spot\n")),
            "jobs:2: column 'job_type': 'spot', expected HP or Spot");
  EXPECT_EQ(error_of(spot("1,57,A10,15,200,100000,30,41060,Spot\n")),
            "jobs:2: column 'gpu_request': '200', expected 1000000 GPUs of a job at most");
}

TEST(Spot, ReadsThePublishedNodes) {
  const std::string name = "alibaba-other/spot-2026/node_info_df.csv.gz";
  if (const auto absent = test::absent_shared("traces/" + name)) GTEST_SKIP() << *absent;
  const auto cluster = read_cluster(published_text(name), "nodes");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 4'278U);
  EXPECT_EQ(cluster->gpus().size(), 10'412U);
}

}  // namespace
}  // namespace berth::trace
