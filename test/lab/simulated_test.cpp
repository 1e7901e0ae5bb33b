// Goal: the simulated half of the evaluation follows its stated model and keeps the promise; what
// is read from a scenario is what both halves run.
// Method: small traces whose outcome the model gives by hand; the evaluation's own over seeds.
#include "lab/simulated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/workload.hpp"
#include "trace/formats.hpp"

namespace berth::lab {
namespace {

using namespace literals;
using testing::HasSubstr;

Cluster cards(std::uint32_t count) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = count, .vram = 24_GiB});
  return *as_emulated(cluster);
}

/// Two seconds; loads `needs` in half a second.
trace::TraceJob job(Bytes needs, int duty) {
  trace::TraceJob job{.name = "t",
                      .submit = kStart + Duration(10'000),
                      .duration = seconds(2),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu = {.count = GpuCount(1), .vram = needs};
  job.duty = GpuMilli(duty);
  job.use = trace::UseCurve({{Duration(0), Bytes(0)}, {Duration(500'000), needs}});
  return job;
}

Run run_of(std::vector<trace::TraceJob> jobs, const Way& way) {
  trace::Trace trace;
  trace.jobs = std::move(jobs);
  const auto run = run_simulated(trace, cards(1), way);
  EXPECT_TRUE(run.has_value()) << run.error().message;
  return run.value_or(Run{});
}

std::vector<std::string> states(const Run& run) {
  std::vector<std::string> states;
  for (const Fate& fate : run.fates) states.push_back(fate.state);
  return states;
}

Duration ran(const Fate& fate) { return fate.ended - fate.started; }

TEST(Simulated, AJobAloneTakesItsSoloTimeAndThatOfItsStart) {
  const auto run = run_of({job(4_GiB, 370)}, kHeadroom);
  ASSERT_EQ(run.fates.size(), 1U);
  EXPECT_EQ(run.fates[0].state, "done");
  EXPECT_EQ(ran(run.fates[0]), seconds(2) + kStartLatency);
  EXPECT_NEAR(run.use.busy, 0.37, 0.01);
}

TEST(Simulated, TwoThatWantTheWholeGpuTakeTwiceAsLong) {
  const auto run = run_of({job(4_GiB, 1000), job(4_GiB, 1000)}, kFifo);
  for (const Fate& fate : run.fates) {
    EXPECT_EQ(fate.state, "done");
    EXPECT_EQ(ran(fate), seconds(4) + kStartLatency);
  }
}

TEST(Simulated, WithoutASchedulerOneOfTwoThatDoNotFitDies) {
  const auto run = run_of({job(14_GiB, 200), job(14_GiB, 200)}, kNone);
  EXPECT_THAT(states(run), testing::UnorderedElementsAre("done", "oom"));
}

TEST(Simulated, PollingStartsTheSecondDuringTheFirstOnesRamp) {
  const auto run = run_of({job(14_GiB, 200), job(14_GiB, 200)}, kFreeMemory);
  EXPECT_THAT(states(run), testing::Contains("oom"));
}

TEST(Simulated, TheGuaranteeMakesTheSecondWaitForTheFirst) {
  const auto run = run_of({job(14_GiB, 200), job(14_GiB, 200)}, kHeadroom);
  EXPECT_EQ(run.fates[0].state, "done");
  EXPECT_EQ(run.fates[1].state, "done");
  EXPECT_GE(run.fates[1].started, run.fates[0].ended);
}

TEST(Simulated, AJobThatAsksTooLittleIsTriedAgainWithMore) {
  trace::TraceJob greedy = job(14_GiB, 200);
  greedy.spec.request.gpu.vram = 6_GiB;
  greedy.spec.retries = 3;
  trace::TraceJob honest = job(12_GiB, 200);
  honest.use = trace::UseCurve({{Duration(0), 12_GiB}});  // not what polling sees too late
  const auto run = run_of({honest, greedy}, kHeadroom);
  EXPECT_EQ(run.fates[0].state, "done") << "a neighbour within its request";
  EXPECT_EQ(run.fates[1].state, "done");
  EXPECT_GT(run.fates[1].attempts, 1);
}

TEST(Simulated, TheEvaluationLosesNothingUnderTheGuaranteeAndSomethingWithoutIt) {
  const Cluster gpus = *as_emulated(two_cards());
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const trace::Trace trace = mixed_workload(seed);
    for (const Way& way : kAllWays) {
      const auto run = run_simulated(trace, gpus, way);
      ASSERT_TRUE(run.has_value()) << run.error().message;
      const Score got = score(trace, *run);
      const auto all = static_cast<int>(trace.jobs.size());
      EXPECT_EQ(got.finished + got.oom_by_admission, all) << way.name << " seed " << seed;
      if (way.admission == AdmissionMode::Guarantee) {
        EXPECT_EQ(got.oom_by_admission, 0) << way.name << " seed " << seed;
      } else {
        EXPECT_GT(got.oom_by_admission, 0) << way.name << " seed " << seed;
      }
    }
  }
}

TEST(Workload, IsATraceThatIsReadAsItWasMade) {
  const trace::Trace made = mixed_workload(4);
  const std::string text = trace::write_native(made);
  const auto read = trace::read_native({.text = text, .file = "w.csv"});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->jobs.size(), made.jobs.size());
  const Cluster gpus = *as_emulated(two_cards());
  const auto one = run_simulated(made, gpus, kFifo);
  const auto other = run_simulated(*read, gpus, kFifo);
  for (std::size_t i = 0; i < made.jobs.size(); ++i) {
    EXPECT_EQ(made.jobs[i].user, read->jobs[i].user);
    EXPECT_EQ(one->fates[i].started, other->fates[i].started);
    EXPECT_EQ(one->fates[i].ended, other->fates[i].ended);
  }
}

TEST(Workload, WhatATraceDoesNotSayIsFilledInAndWhatIsNotRunLiveIsRefused) {
  trace::Trace trace;
  trace.jobs = {job(4_GiB, 0), job(4_GiB, 300)};
  trace.jobs[0].duty = trace::kUnstatedDuty;
  trace.jobs[0].use = {};
  ASSERT_TRUE(prepare_for_live(trace).has_value());
  EXPECT_EQ(trace.jobs[0].duty, kWholeGpu);
  EXPECT_EQ(trace.jobs[0].use.peak(), 4_GiB);
  EXPECT_EQ(trace.jobs[1].duty, GpuMilli(300));
  trace.jobs[1].after = {"t"};
  EXPECT_THAT(prepare_for_live(trace).error().message, HasSubstr("job t: comes after others"));
}

TEST(Workload, AFasterTraceIsTheSameInLessTime) {
  trace::Trace trace;
  trace.jobs = {job(4_GiB, 300)};
  trace.jobs[0].use = *trace::parse_use_curve("0:0|0.000001:5|1:4096");
  trace.jobs[0].spec.time_limit = seconds(8);
  make_faster(trace, 4);
  EXPECT_EQ(trace.jobs[0].submit, kStart + Duration(2'500));
  EXPECT_EQ(trace.jobs[0].duration, Duration(500'000));
  EXPECT_EQ(trace.jobs[0].spec.time_limit, seconds(2));
  EXPECT_EQ(trace.jobs[0].use, *trace::parse_use_curve("0:5|0.25:4096"))
      << "of points that become one, the last";
}

TEST(Workload, TheMachineIsAsTheEmulatorMakesIt) {
  const Cluster emulated = *as_emulated(two_cards());
  EXPECT_EQ(emulated.gpu_count(), GpuCount(2));
  EXPECT_EQ(emulated.gpu(GpuId(1)).capacity, 24_GiB - 384_MiB);
  EXPECT_EQ(emulated.gpu(GpuId(1)).context, 320_MiB) << "300, as berthd charges it";
  EXPECT_EQ(emulated_gpus(two_cards()), "2x24576M");
  Cluster two_nodes = two_cards();
  two_nodes.add_node({.name = "m", .gpus = 1, .vram = 24_GiB});
  EXPECT_THAT(as_emulated(two_nodes).error().message, HasSubstr("the cluster has 2 nodes"));
  Cluster no_gpus;
  no_gpus.add_switch();
  no_gpus.add_node({.name = "n"});
  EXPECT_THAT(as_emulated(no_gpus).error().message, HasSubstr("the cluster has none"));
}

}  // namespace
}  // namespace berth::lab
