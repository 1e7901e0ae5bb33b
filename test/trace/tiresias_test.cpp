// Goal: Tiresias traces become jobs as that simulator sees them.
// Method: small files; the published one where it is at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/trace.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTiresiasHeader =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";

Expected<Trace> tiresias_rows(const std::string& rows) {
  return read("tiresias", std::string(kTiresiasHeader) + rows, "t.csv");
}
std::string tiresias_error(const std::string& rows) {
  const auto trace = tiresias_rows(rows);
  return trace ? "none" : trace.error().message;
}

TEST(Tiresias, ReadsJobsInOrderOfSubmission) {
  const auto trace = tiresias_rows("b,2,30,9,vgg,100,0\na,1,5,9,vgg,10.9,0\nc,4,30,9,vgg,7,0\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].name, "a");
  EXPECT_EQ(trace->jobs[0].submit, kStart + seconds(5));
  EXPECT_EQ(trace->jobs[0].duration, seconds(10)) << "cut to whole seconds";
  EXPECT_EQ(trace->jobs[1].name, "b") << "ties stay in file order";
  EXPECT_EQ(trace->jobs[2].name, "c");
  EXPECT_EQ(trace->jobs[2].spec.request.gpu.count, GpuCount(4));
  EXPECT_EQ(trace->jobs[2].spec.request.gpu.sharing, Sharing::Alone);
}

TEST(Tiresias, FindsColumnsByName) {
  const auto trace =
      read("tiresias", "duration,extra,submit_time,num_gpu,job_id\n60,?,3,2,x\n", "t.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].name, "x");
  EXPECT_EQ(trace->jobs[0].duration, seconds(60));
}

TEST(Tiresias, AnEmptyTraceIsATrace) {
  const auto trace = tiresias_rows("");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->jobs.empty());
}

TEST(Tiresias, NamesLineColumnValueAndExpectation) {
  EXPECT_EQ(tiresias_error("a,0,0,1,m,1,0\n"),
            "t.csv:2: column 'num_gpu': '0', expected an integer from 1 to 1000000");
  EXPECT_EQ(tiresias_error("a,1,0,1,m,1,0\nb,1,-1,1,m,1,0\n"),
            "t.csv:3: column 'submit_time': '-1', expected seconds from 0 to 3162240000");
  EXPECT_THAT(tiresias_error("a,1,0,1,m,x,0\n"), HasSubstr("column 'duration': 'x'"));
  EXPECT_EQ(tiresias_error(",1,0,1,m,1,0\n"), "t.csv:2: column 'job_id': '', expected a name");
  EXPECT_EQ(tiresias_error("a,1,0,1,m,1\n"), "t.csv:2: 6 fields, expected 7");
}

TEST(Tiresias, NamesAMissingColumn) {
  for (const char* column : {"job_id", "num_gpu", "submit_time", "duration"}) {
    std::string header(kTiresiasHeader);
    header.replace(header.find(column), std::string(column).size(), "other");
    const auto trace = read("tiresias", header, "t.csv");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().message,
              "t.csv:1: no column '" + std::string(column) + "' in the header");
  }
}

TEST(Tiresias, ReadsItsClusterFile) {
  const auto cluster = read_tiresias_cluster(
      "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,3,4,64,256\n", "c");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->switches(), 2U);
  EXPECT_EQ(cluster->nodes().size(), 6U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(24));
}

TEST(Tiresias, RefusesABadClusterFile) {
  const std::string header = "num_switch,num_node_p_switch,num_gpu_p_node\n";
  EXPECT_EQ(read_tiresias_cluster(header, "c").error().message, "c: no line after the header");
  EXPECT_THAT(read_tiresias_cluster(header + "1,0,4\n", "c").error().message,
              HasSubstr("c:2: column 'num_node_p_switch': '0'"));
  EXPECT_THAT(read_tiresias_cluster("num_switch\n1\n", "c").error().message,
              HasSubstr("no column 'num_node_p_switch'"));
  EXPECT_FALSE(read_tiresias_cluster(header + "1000,1000,1000\n", "c"));
}

TEST(Formats, AnUnknownOneIsNamed) {
  EXPECT_THAT(read("xml", "", "t").error().message,
              testing::StartsWith("trace format 'xml' is unknown; valid names: "));
}

TEST(Examples, TheShippedTraceFitsItsCluster) {
  const auto trace =
      read("tiresias", test::read_file(test::source_dir() / "examples/small.csv"), "small.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 60U);
  for (const TraceJob& job : trace->jobs) EXPECT_LE(job.spec.request.gpu.count, GpuCount(16));
}

TEST(Published, TheAuthorsTraceIsRead) {
  const auto file = "oracles/tiresias/60_job.csv";
  if (const auto absent = test::absent_shared(file)) GTEST_SKIP() << *absent;
  const auto trace = read("tiresias", test::read_file(test::shared_dir() / file), "60_job.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 60U);
}

}  // namespace
}  // namespace berth::trace
