// Goal: PAI's tasks become jobs, one for all tasks of a name, also as published, without a header.
// Method: small tables by the documented columns; the published machines where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/error.hpp"
#include "trace/formats.hpp"
#include "trace/published.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTasks =
    "j1,tensorflow,1.0,Terminated,1000.0,4600.0,600.0,29.296875,25.0,MISC\n"
    "j2,worker,4.0,Terminated,1010.0,2010.0,600.0,29.296875,100.0,V100\n"
    "j2,ps,2.0,Terminated,1005.0,2110.0,400.0,1.0,,\n"
    "j3,PyTorchWorker,2.0,Failed,1020.0,,600.0,29.296875,50.0,T4\n"
    "j4,worker,1.0,Terminated,1020.0,1030.0,600.0,29.296875,,\n"
    "j5,worker,2.0,Running,1020.0,,600.0,29.296875,50.0,T4\n"
    "j6,worker,3.0,Failed,1020.0,1020.0,,,250.0,T4\n"
    "j7,worker,3.0,Failed,,1020.0,,,250.0,T4\n";

Expected<Trace> pai(std::string_view rows, std::span<const Profile> profiles = {}) {
  return read_pai({.text = rows, .file = "tasks", .profiles = profiles});
}

TEST(Pai, TheTasksOfAJobAreOneJob) {
  const auto trace = pai(kTasks);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3U);
  const TraceJob& part = trace->jobs[0];
  EXPECT_EQ(part.name, "j1");
  EXPECT_EQ(part.submit, kStart);
  EXPECT_EQ(part.duration, hours(1));
  EXPECT_EQ(part.spec.request.gpu.count, GpuCount(1));
  EXPECT_EQ(part.spec.request.gpu.milli, GpuMilli(250));
  EXPECT_EQ(part.spec.request.gpu.sharing, Sharing::Shared);
  EXPECT_THAT(part.types, ElementsAre("MISC"));
  const TraceJob& gang = trace->jobs[1];
  EXPECT_EQ(gang.name, "j2");
  EXPECT_EQ(gang.submit, kStart + seconds(5)) << "its first task";
  EXPECT_EQ(gang.duration, seconds(1105)) << "to the end of its last";
  EXPECT_EQ(gang.spec.request.gpu.count, GpuCount(4));
  EXPECT_EQ(gang.spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_EQ(gang.spec.request.cpu, CpuMilli(4 * 6000 + 2 * 4000));
  EXPECT_EQ(gang.spec.request.host.raw() >> 20, 4 * 30'000 + 2 * 1024);
  EXPECT_EQ(gang.model, "worker") << "the task with GPUs";
  EXPECT_EQ(trace->jobs[2].duration, seconds(1)) << "times are whole seconds";
  EXPECT_EQ(trace->jobs[2].spec.request.gpu.count, GpuCount(9)) << "three for each instance";
}

TEST(Pai, CountsByKindWhatIsNoJobThatRan) {
  const auto trace = pai(kTasks);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->left_out, 4U);
  EXPECT_EQ(left_out_as(*trace, "tasks that have not ended"), 2U);
  EXPECT_EQ(left_out_as(*trace, "tasks that never ran"), 1U);
  EXPECT_EQ(left_out_as(*trace, kWithoutGpu), 1U);
}

TEST(Pai, ReadsTheSameWithAHeader) {
  const auto bare = pai(kTasks);
  const auto named =
      pai("job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_"
          "type\n" +
          std::string(kTasks));
  ASSERT_TRUE(bare && named);
  EXPECT_EQ(write_native(*bare), write_native(*named));
}

TEST(Pai, TheTableOfJobsHasSubmissionsAndUsers) {
  const std::vector<Profile> profiles = {{"jobs",
                                          "j1,x,ann,Terminated,900.0,4600.0\n"
                                          "j2,x,bob,Terminated,880.0,2110.0\n"
                                          "j8,x,bob,Waiting,,\n"}};
  const auto trace = pai(kTasks, profiles);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].name, "j2");
  EXPECT_EQ(trace->jobs[0].user, "bob");
  EXPECT_EQ(trace->jobs[1].submit, kStart + seconds(20));
  EXPECT_EQ(trace->jobs[1].duration, hours(1)) << "it waited for 100 s";
  EXPECT_THAT(trace->warnings, ElementsAre("1 jobs are not in the table of --profiles"));
}

TEST(Pai, SaysWhatItReadsInAnotherWayThanItStands) {
  const auto trace =
      pai("j,worker,1.0,Terminated,0.0,9.0,600.0,1.0,25.0,T4\n"
          "j,evaluator,1.0,Terminated,0.0,9.0,600.0,1.0,100.0,V100\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_THAT(trace->jobs[0].types, ElementsAre("T4", "V100"));
  EXPECT_THAT(trace->warnings,
              ElementsAre("1 tasks ask for another part of a GPU than their job's others: the "
                          "largest part is read for all",
                          HasSubstr("--profiles names the table of jobs, pai_job_table.csv")));
}

TEST(Pai, NamesWhatIsWrong) {
  EXPECT_EQ(error_of(pai("j,t,1.0,Done,0.0,9.0,600.0,1.0,25.0,T4\n")),
            "tasks:1: column 'status': 'Done', expected one of Running, Terminated, Failed, "
            "Waiting");
  EXPECT_EQ(error_of(pai("j,t,1.0,Failed,10.0,9.0,600.0,1.0,25.0,T4\n")),
            "tasks:1: column 'end_time': '9.0', expected a time not before the start");
  EXPECT_EQ(error_of(pai("j,t,100000,Failed,0.0,9.0,600.0,1.0,2500.0,T4\n")),
            "tasks:1: column 'plan_gpu': '2500.0', expected 1000000 GPUs of a task at most");
}

TEST(Pai, ReadsThePublishedMachinesFromTheirArchive) {
  const std::string name = "alibaba-other/pai-2020/pai_machine_spec.tar.gz";
  if (const auto absent = test::absent_shared("traces/" + name)) GTEST_SKIP() << *absent;
  const auto cluster = read_cluster(published_text(name), "machines");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 1'897U);
  EXPECT_EQ(cluster->gpus().size(), 6'742U);
}

}  // namespace
}  // namespace berth::trace
