// Goal: openb's pods ask for what they say, and its nodes offer it.
// Method: small texts, good and bad; the published files where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kOpenbHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

Expected<Trace> openb_rows(const std::string& rows) {
  return read_openb({.text = std::string(kOpenbHeader) + rows, .file = "pods.csv"});
}
std::string openb_error(const std::string& row) {
  const auto trace = openb_rows(row);
  return trace ? "none" : trace.error().message;
}

TEST(Openb, AWholeGpuIsTakenAlone) {
  const auto trace = openb_rows("p,12000,2048,2,1000,,LS,Running,5,100,7\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& job = trace->jobs.at(0);
  EXPECT_EQ(job.name, "p");
  EXPECT_EQ(job.submit, kStart + seconds(5));
  EXPECT_EQ(job.duration, seconds(93)) << "from when it was scheduled";
  EXPECT_EQ(job.spec.request.cpu, CpuMilli(12'000));
  EXPECT_EQ(job.spec.request.host, Bytes(std::int64_t{2} << 30));
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(job.spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_THAT(job.types, IsEmpty());
}

TEST(Openb, APartOfAGpuIsShared) {
  const auto trace = openb_rows("p,6000,1024,1,460,T4|P100,BE,Pending,5,100,\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& job = trace->jobs.at(0);
  EXPECT_EQ(job.spec.request.gpu.sharing, Sharing::Shared);
  EXPECT_EQ(job.spec.request.gpu.milli, GpuMilli(460));
  EXPECT_EQ(job.spec.request.gpu.vram, kUnstated);
  EXPECT_EQ(job.duration, seconds(95)) << "never scheduled: from its creation";
  EXPECT_THAT(job.types, ElementsAre("T4", "P100"));
}

TEST(Openb, APodMayNeedNoGpu) {
  const auto trace = openb_rows("p,6000,1024,0,0,,BE,Running,5,100,5\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).spec.request.gpu.count, GpuCount(0));
}

TEST(Openb, AListWithoutTimesArrivesInOrderAndStays) {
  const auto trace = read_openb(
      {.text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nb,1,1,8,1000\na,1,1,1,500\n",
       .file = "pods.csv"});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).name, "b");
  EXPECT_EQ(trace->jobs.at(1).submit, kStart + seconds(1));
  EXPECT_EQ(trace->jobs.at(1).duration, seconds(12'902'960));
}

TEST(Openb, NamesWhatIsWrong) {
  EXPECT_EQ(openb_error("p,1,1,2,500,,LS,Running,0,1,0\n"),
            "pods.csv:2: column 'gpu_milli': '500', expected 1000, since it asks for several GPUs");
  EXPECT_THAT(openb_error("p,1,1,1,0,,LS,Running,0,1,0\n"), HasSubstr("column 'gpu_milli': '0'"));
  EXPECT_THAT(openb_error("p,1,1,1,1001,,LS,Running,0,1,0\n"), HasSubstr("from 0 to 1000"));
  EXPECT_THAT(openb_error("p,x,1,1,500,,LS,Running,0,1,0\n"), HasSubstr("column 'cpu_milli': 'x'"));
  EXPECT_EQ(openb_error("p,1,1,1,500,,LS,Running,9,4,\n"),
            "pods.csv:2: column 'deletion_time': '4', expected a time not before the pod's start");
}

TEST(Openb, NodesHaveCardsCoresAndMemory) {
  const auto cluster = read_openb_nodes(
      "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,1024,0,\nn1,96000,4096,2,T4\n"
      "n2,96000,4096,1,G2\n",
      "nodes.csv");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 3U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(3));
  EXPECT_EQ(cluster->node(NodeId(1)).cpu, CpuMilli(96'000));
  EXPECT_EQ(cluster->node(NodeId(1)).host, Bytes(std::int64_t{4} << 30));
  EXPECT_EQ(cluster->gpu(GpuId(0)).capacity, Bytes(std::int64_t{16} << 30));
  EXPECT_THAT(std::vector(cluster->type_names().begin(), cluster->type_names().end()),
              ElementsAre("T4", "G2"));
}

TEST(AcceptTypes, KeepsWhatTheClusterHas) {
  auto trace = openb_rows(
      "a,1,1,1,1000,T4,LS,Running,0,1,0\n"
      "b,1,1,1,1000,H100|G2,LS,Running,1,2,1\n"
      "c,1,1,1,1000,,LS,Running,2,3,2\n"
      "d,1,1,1,1000,H100,LS,Running,3,4,3\n");
  ASSERT_TRUE(trace);
  const auto cluster = read_openb_nodes(
      "sn,cpu_milli,memory_mib,gpu,model\nn1,9,4,2,T4\nn2,9,4,1,G2\n", "nodes.csv");
  ASSERT_TRUE(cluster);
  ASSERT_TRUE(accept_types(*trace, *cluster));
  const auto types = [&](std::size_t i) { return trace->jobs.at(i).spec.request.gpu.types; };
  EXPECT_EQ(types(0), 0b01U);
  EXPECT_EQ(types(1), 0b10U);
  EXPECT_EQ(types(2), 0U) << "any";
  EXPECT_EQ(types(3), 0b100U) << "none that there is";
}

TEST(AcceptTypes, RefusesAClusterWithoutABitToSpare) {
  Cluster cluster;
  cluster.add_switch();
  for (int i = 0; i < 64; ++i) {
    cluster.add_node({.name = "n", .gpus = 1, .type = std::to_string(i)});
  }
  Trace trace;
  EXPECT_FALSE(accept_types(trace, cluster));
}

class PublishedOpenb : public testing::Test {
 protected:
  static std::string read(const std::string& name) {
    const auto file = test::shared_dir() / "traces/openb-2023" / name;
    const auto text = unpacked(test::read_file(file), name);
    EXPECT_TRUE(text) << text.error().message;
    return text.value_or("");
  }
  void SetUp() override {
    const auto file = test::shared_dir() / "traces/openb-2023/openb_pod_list_default.csv.gz";
    if (const auto absent = test::absent_shared(file)) GTEST_SKIP() << *absent;
  }
};

TEST_F(PublishedOpenb, DefaultMix) {
  const auto trace = read_openb({.text = read("openb_pod_list_default.csv.gz"), .file = "pods"});
  ASSERT_TRUE(trace) << trace.error().message;
  std::size_t one = 0, part = 0, none = 0, eight = 0;
  for (const TraceJob& job : trace->jobs) {
    const GpuRequest& gpu = job.spec.request.gpu;
    one += gpu.count == GpuCount(1) ? 1 : 0;
    part += gpu.count == GpuCount(1) && gpu.sharing == Sharing::Shared ? 1 : 0;
    none += gpu.count == GpuCount(0) ? 1 : 0;
    eight += gpu.count == GpuCount(8) ? 1 : 0;
  }
  EXPECT_EQ(trace->jobs.size(), 8152U);
  EXPECT_EQ(one, 6989U);
  EXPECT_EQ(part, 3078U);
  EXPECT_EQ(none, 1088U);
  EXPECT_EQ(eight, 44U);
}

TEST_F(PublishedOpenb, EveryMix) {
  for (const char* mix : {"cpu0", "cpu100", "gpushare20", "gpushare40", "gpushare100", "gpuspec10",
                          "gpuspec25", "multigpu20", "multigpu40"}) {
    const std::string name = "openb_pod_list_" + std::string(mix) + ".csv.gz";
    const auto trace = read_openb({.text = read(name), .file = name});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_GT(trace->jobs.size(), 7000U) << mix;
  }
}

TEST_F(PublishedOpenb, Nodes) {
  const auto cluster = read_cluster(read("openb_node_list_all_node.csv.gz"), "nodes");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 1523U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(6212));
  EXPECT_EQ(cluster->type_names().size(), 7U);
}

}  // namespace
}  // namespace berth::trace
