// Goal: the jobs of Muri, ElasticFlow and Chronus are read with their units and deadlines.
// Method: small texts, good and bad; the published files where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/published.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

// ---- Muri ----

constexpr std::string_view kMuri =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\r\n";

Expected<Trace> muri(const std::string& rows) {
  return read_muri({.text = std::string(kMuri) + rows, .file = "m.csv"});
}

TEST(Muri, TimesAreMilliseconds) {
  const auto trace = muri("7,4,1500,9,vgg16,16,90250,0,10,1,2,0.5,1\r\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& job = trace->jobs.at(0);
  EXPECT_EQ(job.submit, kStart + Duration(1'500'000));
  EXPECT_EQ(job.duration, Duration(90'250'000));
  EXPECT_EQ(job.model, "vgg16");
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(4));
  EXPECT_EQ(job.iteration.alone, Duration(10'150)) << "1.5 % more than is stated";
  EXPECT_EQ(job.iteration.stages, (std::array{Duration(1'000), Duration(2'000), Duration(500)}));
}

TEST(Muri, NamesWhatIsWrong) {
  EXPECT_THAT(error_of(muri("7,4,-1,9,v,1,9,0,1,1,1,1,0\n")),
              HasSubstr("m.csv:2: column 'submit_time': '-1', expected milliseconds from 0 to "));
  EXPECT_THAT(error_of(muri("7,0,1,9,v,1,9,0,1,1,1,1,0\n")), HasSubstr("column 'num_gpu': '0'"));
  EXPECT_EQ(error_of(read_muri({.text = "job_id,num_gpu,submit_time\n", .file = "m"})),
            "m:1: no column 'duration' in the header");
}

TEST(PublishedMuri, Traces) {
  if (const auto absent = test::absent_shared("traces/muri")) GTEST_SKIP() << *absent;
  EXPECT_EQ(published("muri/simulator/trace1.csv.gz").jobs.size(), 1494U);
  const Trace third = published("muri/simulator/trace3.csv.gz");
  ASSERT_EQ(third.jobs.size(), 992U);
  EXPECT_EQ((third.jobs.back().submit - third.jobs.front().submit) / hours(24), 94);
  EXPECT_EQ(published("muri/testbed/cluster_trace.csv").jobs.size(), 400U);
}

// ---- ElasticFlow ----

TEST(ElasticFlow, DeadlinesAreOnTheClockOfSubmissions) {
  const auto trace = read_elasticflow(
      {.text = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,"
               "duration\nx,100,5,bert,450,64,2,300\n",
       .file = "e.csv"});
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& job = trace->jobs.at(0);
  EXPECT_EQ(job.submit, kStart + seconds(100));
  EXPECT_EQ(job.spec.deadline, kStart + seconds(450));
  EXPECT_EQ(job.duration, seconds(300));
  EXPECT_EQ(job.model, "bert");
}

TEST(ElasticFlow, TheRawFormHasNone) {
  const auto trace = read_elasticflow(
      {.text = "job_id,submission_time,duration,num_gpu\nx,100,300,2\n", .file = "e.csv"});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).spec.deadline, kNever);
}

TEST(ElasticFlow, ABestEffortJobHasNone) {
  const auto trace = read_elasticflow(
      {.text = "job_id,submit_time,ddl,num_gpu,duration,best_effort\na,1,9,1,5,0\nb,2,9,1,5,1\n",
       .file = "e.csv"});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).spec.deadline, kStart + seconds(9));
  EXPECT_EQ(trace->jobs.at(1).spec.deadline, kNever);
}

TEST(ElasticFlow, NamesWhatIsWrong) {
  const auto error = [](const std::string& row) {
    return error_of(read_elasticflow(
        {.text = "job_id,submission_time,deadline,num_gpu,duration\n" + row, .file = "e.csv"}));
  };
  EXPECT_THAT(error("x,1,soon,1,5\n"), HasSubstr("e.csv:2: column 'deadline': 'soon'"));
  EXPECT_THAT(error("x,1,9,1,5k\n"), HasSubstr("column 'duration': '5k'"));
  EXPECT_EQ(error_of(read_elasticflow({.text = "job_id,num_gpu,duration\n", .file = "e"})),
            "e:1: no column 'submission_time' in the header");
}

TEST(PublishedElasticFlow, Clusters) {
  if (const auto absent = test::absent_shared("traces/elasticflow-itp")) GTEST_SKIP() << *absent;
  const std::string folder = "elasticflow-itp/";
  const std::vector<std::size_t> jobs = {1595, 5778, 3011, 15802, 3629};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string name = "cluster0" + std::to_string(i + 1) + ".csv.gz";
    EXPECT_EQ(published(folder + "raw/" + name).jobs.size(), jobs[i]);
    const Trace trace = published(folder + "with-deadlines/" + name);
    EXPECT_EQ(trace.jobs.size(), jobs[i]);
    EXPECT_NE(trace.jobs.front().spec.deadline, kNever);
  }
  EXPECT_EQ(published(folder + "with-deadlines/195job.csv.gz").jobs.size(), 195U);
  EXPECT_EQ(published(folder + "artifact/philly_103959.csv").jobs.size(), 876U);
  EXPECT_EQ(published(folder + "artifact/elasticVpollux_e.csv").jobs.size(), 195U);
  EXPECT_EQ(published(folder + "artifact/resnet_cifar_trace.csv").jobs.size(), 5U);
}

// ---- Chronus ----

constexpr std::string_view kChronus =
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,"
    "expect_value_list,best_effort,job_type\n";

Expected<Trace> chronus(const std::string& rows) {
  return read_chronus({.text = std::string(kChronus) + rows, .file = "c.csv"});
}

TEST(Chronus, TimesAreMinutesAndTheFirstStepIsTheDeadline) {
  const auto trace = chronus(
      "1,vc_a,2,10,9,vgg,30,0,45-60,10-5,0,soft\n"
      "2,vc_b,1,20,9,vgg,30,0,20,10,1,best\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).submit, kStart + minutes(10));
  EXPECT_EQ(trace->jobs.at(0).duration, minutes(30));
  EXPECT_EQ(trace->jobs.at(0).spec.deadline, kStart + minutes(55)) << "from the submission";
  EXPECT_EQ(trace->jobs.at(0).user, "vc_a");
  EXPECT_EQ(trace->jobs.at(1).spec.deadline, kNever) << "best effort";
}

TEST(Chronus, RowsWithoutAGpuAreLeftOut) {
  const auto trace = chronus("1,a,0,1,9,v,3,0,4,1,0,strict\n2,a,1,1,9,v,3,0,4,1,0,strict\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->left_out, 1U);
}

TEST(Chronus, NamesWhatIsWrong) {
  EXPECT_THAT(error_of(chronus("1,a,1,1,9,v,3,0,x,1,0,strict\n")),
              HasSubstr("c.csv:2: column 'expect_time_list': 'x', expected minutes"));
  EXPECT_THAT(error_of(chronus("1,a,1,1,9,v,3,0,,1,0,strict\n")), HasSubstr("expected minutes"));
  EXPECT_THAT(error_of(chronus("1,a,1,1,9,v,3,0,4,1,2,strict\n")),
              HasSubstr("column 'best_effort': '2'"));
}

TEST(PublishedChronus, BothMixes) {
  const std::string folder = "philly-2017/chronus/trace_job_Philly_";
  if (const auto absent = test::absent_shared("traces/" + folder + "SLO.csv.gz")) {
    GTEST_SKIP() << *absent;
  }
  for (const char* mix : {"SLO", "MIX1"}) {
    const Trace trace = published(folder + mix + ".csv.gz");
    EXPECT_EQ(trace.jobs.size() + trace.left_out, 30'940U) << mix;
    EXPECT_GT(trace.left_out, 150U) << "about 200 rows have no GPU";
    EXPECT_LE(trace.jobs.back().submit, kStart + hours(24) * 15) << "20,151 minutes";
  }
}

}  // namespace
}  // namespace berth::trace
