// Goal: Philly's jobs and machines are read as their authors publish them.
// Method: small texts, good and bad; the published files where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPhillyHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n";

Expected<Trace> philly_rows(const std::string& rows, BadRows bad_rows = BadRows::Refuse) {
  return read_philly(
      {.text = std::string(kPhillyHeader) + rows, .file = "p.csv", .bad_rows = bad_rows});
}
std::string philly_error(const std::string& row) {
  const auto trace = philly_rows(row);
  return trace ? "none" : trace.error().message;
}

TEST(Philly, TheEarliestJobIsTheOrigin) {
  const auto trace = philly_rows(
      "2020-03-01 00:00:10,20.0,2,40.0,beta\n"
      "2020-02-28 23:59:50,7.0,1,7.0,alpha\n"
      "2020-03-01 00:00:10,5.5,8,44.0,alpha\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].name, "2") << "a job is its row's number";
  EXPECT_EQ(trace->jobs[0].submit, kStart);
  EXPECT_EQ(trace->jobs[1].submit, kStart + hours(24) + seconds(20)) << "2020 has a leap day";
  EXPECT_EQ(trace->jobs[2].duration, Duration(5'500'000));
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.sharing, Sharing::Alone);
}

TEST(Philly, GroupsAreUsersNumberedByAppearance) {
  const auto trace = philly_rows(
      "2020-01-02 00:00:00,1,1,1,beta\n"
      "2020-01-01 00:00:00,1,1,1,alpha\n"
      "2020-01-03 00:00:00,1,1,1,beta\n");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->jobs[0].user, "alpha");
  EXPECT_EQ(trace->jobs[0].spec.user, UserId(2));
  EXPECT_EQ(trace->jobs[1].spec.user, UserId(1));
  EXPECT_EQ(trace->jobs[2].spec.user, UserId(1));
}

TEST(Philly, NamesLineColumnValueAndExpectation) {
  EXPECT_EQ(philly_error("2020-02-30 00:00:00,1,1,1,a\n"),
            "p.csv:2: column 'timestamp': '2020-02-30 00:00:00', expected a time such as "
            "2017-10-09 07:01:55");
  for (const char* time : {"", "2020-01-01", "2020-01-01 24:00:00", "2020-13-01 00:00:00",
                           "2020/01/01 00:00:00", "20x0-01-01 00:00:00", "2020-01-01 00:00:0x"}) {
    EXPECT_THAT(philly_error(std::string(time) + ",1,1,1,a\n"), HasSubstr("column 'timestamp'"))
        << time;
  }
  EXPECT_THAT(philly_error("2020-01-01 00:00:00,1,0,1,a\n"),
              HasSubstr("p.csv:2: column 'num_gpus'"));
  EXPECT_THAT(philly_error("2020-01-01 00:00:00,-1,1,1,a\n"), HasSubstr("column 'duration': '-1'"));
  EXPECT_EQ(philly_error("2020-01-01 00:00:00,1,1\n"), "p.csv:2: 3 fields, expected 5");
}

TEST(Philly, BadRowsAreCountedWhereTheyAreSkipped) {
  const auto trace = philly_rows(
      "2020-01-01 00:00:00,1,none,1,a\n"
      "2020-01-01 00:00:01,1,1,1,a\n"
      "2020-01-01 00:00:02,1\n",
      BadRows::Skip);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->jobs[0].name, "2") << "a skipped row keeps its number";
  EXPECT_EQ(trace->skipped, 2U);
  EXPECT_EQ(trace->first_skipped,
            "p.csv:2: column 'num_gpus': 'none', expected an integer from 1 to 1000000");
}

TEST(PhillyMachines, AreNodesWithTheirCards) {
  const auto cluster = read_philly_machines(
      "machineId, number of GPUs, single GPU mem\na,2, 12GB\nb,8, 24GB\nc,0, 24GB\n", "m.csv");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 3U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(10));
  EXPECT_EQ(cluster->node(NodeId(1)).name, "b");
  EXPECT_EQ(cluster->gpu(GpuId(1)).capacity, Bytes(std::int64_t{12} << 30));
  EXPECT_EQ(cluster->gpu(GpuId(2)).capacity, Bytes(std::int64_t{24} << 30));
  EXPECT_EQ(cluster->type_names().size(), 2U);
}

TEST(PhillyMachines, TheRevisedListHasNoMemory) {
  const auto cluster = read_cluster(",machineId,number of GPUs\n0,a,4\n1,b,8\n", "m.csv");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->gpu_count(), GpuCount(12));
}

TEST(PhillyMachines, NamesWhatIsWrong) {
  const std::string header = "machineId, number of GPUs, single GPU mem\n";
  const auto error = [&](const std::string& row) {
    const auto cluster = read_philly_machines(header + row, "m.csv");
    return cluster ? "none" : cluster.error().message;
  };
  EXPECT_EQ(error("a,2, 12\n"),
            "m.csv:2: column 'single GPU mem': '12', expected a size such as 12GB");
  EXPECT_THAT(error("a,2, 0GB\n"), HasSubstr("'0GB'"));
  EXPECT_THAT(error("a,-1, 12GB\n"), HasSubstr("column 'number of GPUs': '-1'"));
  EXPECT_EQ(error(",1, 12GB\n"), "m.csv:2: column 'machineId': '', expected a name");
  EXPECT_EQ(error("a,600000, 12GB\nb,600000, 12GB\n"), "m.csv: more than 1,000,000 GPUs");
}

TEST(Published, Philly) {
  const auto file = test::shared_dir() / "traces/philly-2017/philly.csv.gz";
  if (const auto absent = test::absent_shared(file)) GTEST_SKIP() << *absent;
  const auto text = unpacked(test::read_file(file), "philly.csv.gz");
  ASSERT_TRUE(text) << text.error().message;
  const auto trace = read_philly({.text = *text, .file = "philly.csv"});
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 82'247U);
  std::int64_t gpu_seconds = 0;
  std::size_t one_gpu = 0;
  UserId last_user;
  for (const TraceJob& job : trace->jobs) {
    const std::int64_t gpus = job.spec.request.gpu.count.raw();
    gpu_seconds += gpus * (job.duration / seconds(1));
    one_gpu += gpus == 1 ? 1 : 0;
    last_user = std::max(last_user, job.spec.user);
  }
  EXPECT_EQ(gpu_seconds / 3600, 978'078);
  EXPECT_EQ(one_gpu * 100 / trace->jobs.size(), 93U);
  EXPECT_EQ(last_user, UserId(15)) << "virtual clusters";
  EXPECT_EQ(trace->jobs.back().submit, kStart + seconds(9'408'690));
}

TEST(Published, PhillyMachines) {
  const auto folder = test::shared_dir() / "traces/philly-2017";
  const auto file = folder / "cluster_machine_list.csv";
  if (const auto absent = test::absent_shared(file)) GTEST_SKIP() << *absent;
  const auto cluster = read_cluster(test::read_file(file), "machines");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 552U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(321 * 2 + 231 * 8));
  const auto revised =
      read_cluster(test::read_file(folder / "revised_machine_list.csv"), "revised");
  ASSERT_TRUE(revised) << revised.error().message;
  EXPECT_EQ(revised->nodes().size(), 552U);
}

}  // namespace
}  // namespace berth::trace
