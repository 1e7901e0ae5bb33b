// Goal: every second that a job waits has one reason, the right one, and the reasons of a run add
// up to what its jobs waited.
// Method: one small run per reason, with seconds worked out by hand.
#include "sim/waits.hpp"

#include <gtest/gtest.h>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

/// A job for whole GPUs.
trace::TraceJob whole(int submit, int run, int gpus) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

/// A job that shares one GPU.
trace::TraceJob part(int submit, int run, std::int64_t gib) {
  trace::TraceJob job = whole(submit, run, 1);
  job.spec.request.gpu.sharing = Sharing::Shared;
  job.spec.request.gpu.vram = 1_GiB * gib;
  return job;
}

class WaitsTest : public testing::Test {
 protected:
  WaitsTest() { options_.explain_waits = true; }

  /// Nodes of GPUs of 16 GiB.
  void cluster(int nodes, std::uint32_t gpus) {
    cluster_ = Cluster();
    cluster_.add_switch();
    for (int i = 0; i < nodes; ++i) {
      cluster_.add_node({.name = "n" + std::to_string(i), .gpus = gpus, .vram = 16_GiB});
    }
  }
  void run(std::vector<trace::TraceJob> jobs, const char* policy = "fifo-skip",
           const char* place = "first-fit") {
    trace_.jobs = std::move(jobs);
    const auto result = simulate(trace_, cluster_, *make_policy(policy, place), options_);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    times_ = *result->waits;
    double waited = 0;
    double explained = 0;
    for (const JobResult& job : result->jobs) {
      waited += in_seconds(job.end - trace_.jobs[job.job].submit - job.spent.ran);
    }
    for (const Duration time : times_) explained += in_seconds(time);
    EXPECT_NEAR(explained, waited, 1e-6 * waited);
  }
  double waited(WaitReason reason) const {
    return in_seconds(times_[static_cast<std::size_t>(reason)]);
  }

  trace::Trace trace_;
  Cluster cluster_;
  Options options_;
  WaitTimes times_{};
};

TEST_F(WaitsTest, UnderAPolicyThatSharesNothingAGpuWithATenantIsTaken) {
  cluster(1, 1);
  run({part(0, 100, 4), part(0, 50, 4)}, "exclusive");
  EXPECT_EQ(waited(WaitReason::Capacity), 100);
}

TEST_F(WaitsTest, CapacityThenOrderBehindABlockedHead) {
  // Two GPUs. The second job wants both from 10 s on, while one is taken up to 100 s: capacity. The
  // third could have the other one, and only its turn is in the way: order, from 20 to 100; then
  // the second has both until 150.
  cluster(1, 2);
  run({whole(0, 100, 1), whole(10, 50, 2), whole(20, 5, 1)}, "fifo");
  EXPECT_EQ(waited(WaitReason::Capacity), 90 + 50);
  EXPECT_EQ(waited(WaitReason::Order), 80);
}

TEST_F(WaitsTest, MemoryAndFragmentation) {
  // GPU 0 has 6 + 0.5 GiB guard free beside 10; a 7 GiB job lacks memory there and has no other.
  cluster(1, 1);
  run({part(0, 100, 10), part(0, 10, 7)});
  EXPECT_EQ(waited(WaitReason::Memory), 100);
  // Two GPUs with 8 GiB free each: 10 GiB are there, in pieces, until 60 s.
  cluster(1, 2);
  run({part(0, 60, 8), part(0, 100, 12), part(0, 10, 10)});
  EXPECT_EQ(waited(WaitReason::Fragmentation), 60);
  EXPECT_EQ(waited(WaitReason::Memory), 0);
}

TEST_F(WaitsTest, LocalityIsThePlacementsOwnDemand) {
  // From 10 s on one GPU is free on each node; the last job wants two of one, and gets those of the
  // second node at 60 s.
  cluster(2, 2);
  const std::vector<trace::TraceJob> jobs = {whole(0, 100, 1), whole(0, 10, 1), whole(0, 60, 1),
                                             whole(20, 10, 2)};
  run(jobs, "fifo-skip", "yarn");
  EXPECT_EQ(waited(WaitReason::Locality), 40);
  run(jobs, "fifo-skip", "count");  // anywhere will do
  EXPECT_EQ(waited(WaitReason::Locality), 0);
}

TEST_F(WaitsTest, PatienceIsTheGates) {
  // From 20 s on one GPU is free on each node, and the last job waits a minute for two of one.
  cluster(2, 2);
  run({whole(0, 1000, 1), whole(0, 20, 1), whole(1, 1000, 1), whole(20, 10, 2)},
      "fifo-skip+local:node_delay=1m", "count");
  EXPECT_EQ(waited(WaitReason::Patience), 60);
}

TEST_F(WaitsTest, AUsersLimit) {
  cluster(1, 4);
  options_.settings.limits.gpus = GpuCount(1);
  run({whole(0, 30, 1), whole(0, 30, 1)});
  EXPECT_EQ(waited(WaitReason::Limit), 30);
  EXPECT_EQ(waited(WaitReason::Order), 0);
}

TEST_F(WaitsTest, APlaceKeptForAnother) {
  // The second job's place is kept from 100 s on; the third would be in its way for 200 s.
  cluster(1, 2);
  run({whole(0, 100, 1), whole(1, 50, 2), whole(2, 200, 1)}, "easy");
  EXPECT_EQ(waited(WaitReason::Capacity), 99 + 50);  // the second; and the third while it runs
  EXPECT_EQ(waited(WaitReason::Reservation), 98);
}

TEST_F(WaitsTest, EveryPolicyOnAMixedLoad) {  // reasons add up to the waits, whatever decides
  cluster(2, 4);
  std::vector<trace::TraceJob> jobs;
  Rng rng(5);
  for (int i = 0; i < 60; ++i) {
    const int run = static_cast<int>(rng.between(1, 400));
    jobs.push_back(i % 3 == 0 ? whole(i * 9, run, static_cast<int>(rng.between(1, 8)))
                              : part(i * 9, run, rng.between(1, 15)));
  }
  for (const PolicyEntry& entry : policies()) {
    if (entry.name.ends_with("gittins") || entry.name.starts_with("tiresias/")) continue;
    SCOPED_TRACE(entry.name);
    run(jobs, std::string(entry.name).c_str(), "consolidated");
  }
}

TEST_F(WaitsTest, CoresOfTheNode) {
  cluster_ = Cluster();
  cluster_.add_switch();
  cluster_.add_node({.name = "n", .gpus = 2, .vram = 16_GiB, .cpu = CpuMilli(4000)});
  std::vector<trace::TraceJob> jobs = {whole(0, 40, 1), whole(0, 10, 1)};
  for (trace::TraceJob& job : jobs) job.spec.request.cpu = CpuMilli(3000);
  run(jobs);
  EXPECT_EQ(waited(WaitReason::Host), 40);
}

TEST_F(WaitsTest, APreemptedJobsWaitCountsToo) {
  cluster(1, 1);
  run({whole(0, 100, 1), whole(10, 20, 1)}, "srtf");
  EXPECT_EQ(waited(WaitReason::Capacity), 20);
}

TEST_F(WaitsTest, FiguresSayTotalMeanAndShare) {
  cluster(1, 2);
  run({whole(0, 100, 1), whole(10, 50, 2), whole(20, 5, 1)}, "fifo");
  const std::vector<WaitFigure> figures = wait_figures(times_, 3);
  const WaitFigure& order = figures[static_cast<std::size_t>(WaitReason::Order)];
  EXPECT_DOUBLE_EQ(order.total, 80);
  EXPECT_DOUBLE_EQ(order.mean, 80.0 / 3);
  EXPECT_DOUBLE_EQ(order.share, 80.0 / 220);
  EXPECT_EQ(to_text(figures), "waiting because of capacity 63.6 %, order 36.4 %\n");
  EXPECT_EQ(to_text(wait_figures({}, 1)), "no job waited\n");
}

TEST_F(WaitsTest, APlaceKeptOnAGpuInUse) {
  // The large one lacks memory until 100 s and has the GPU kept from then on; the small one fits at
  // once but would outlast that; it lacks memory beside the large one until 150.
  cluster(1, 1);
  run({part(0, 100, 6), part(1, 50, 14), part(2, 500, 6)}, "easy");
  EXPECT_EQ(waited(WaitReason::Memory), 99 + 50);
  EXPECT_EQ(waited(WaitReason::Reservation), 98);
}

}  // namespace
}  // namespace berth::sim
