// Goal: a simulated probe tells what berthd's would, when it would, and how busy GPUs are.
// Method: loads and memory on one GPU by hand; then whole runs.
#include "sim/probe.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

constexpr GpuId kGpu(0);

Instant at(double second) { return kStart + Duration(static_cast<std::int64_t>(second * 1e6)); }

Cluster gpu_of_16_gib() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = 16_GiB, .context = 256_MiB});
  return cluster;
}

trace::TraceJob busy_job(int submit, int run, Bytes vram, int duty) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu = {.count = GpuCount(1), .vram = vram};
  job.duty = GpuMilli(duty);
  return job;
}

class ProbeTest : public testing::Test {
 protected:
  /// What is told of the utilisation; -1: nothing is told at all.
  int look(double second, Bytes used = 1_GiB) {
    EXPECT_EQ(next_, at(second));
    const auto told = probe_.look({.gpu = kGpu, .used = used, .tenants = {}}, at(second));
    next_ = probe_.next(at(second));
    return told ? told->utilisation : -1;
  }
  void load(std::int64_t percent, double second) {
    probe_.add_load(kGpu, percent * 10'000, at(second));
    next_ = probe_.next(at(second));
  }

  Cluster cluster_ = gpu_of_16_gib();
  Probe probe_{cluster_, Duration(200'000), at(5)};
  Instant next_ = kNever;
};

TEST_F(ProbeTest, TellsForWhichPartOfTheLastSecondTheGpuWasBusy) {
  EXPECT_EQ(probe_.next(at(5)), kNever) << "there is nothing to see";
  load(100, 1000.5);
  EXPECT_EQ(look(1000.6), 0) << "10 %, to the nearest step";
  EXPECT_EQ(look(1000.8), 25) << "30 %";
  EXPECT_EQ(look(1001.0), -1) << "50 % is not more than a step away";
  EXPECT_EQ(look(1001.2), 75) << "70 %";
  load(100, 1001.3);
  EXPECT_EQ(look(1001.4), -1) << "90 %, for it is no busier than all the time";
  load(-190, 1001.5);
  EXPECT_EQ(look(1001.6), -1) << "91 %";
  EXPECT_EQ(look(1001.8), -1) << "73 %";
  EXPECT_EQ(look(1002.0), -1) << "55 %";
  EXPECT_EQ(look(1002.2), 25) << "37 %";
  EXPECT_EQ(look(1002.4), -1) << "19 %";
  EXPECT_EQ(look(1002.6), -1) << "10 %";
  EXPECT_EQ(next_, kNever) << "and so it stays";
}

TEST_F(ProbeTest, LooksOnceMoreAfterMemoryChanged) {
  probe_.touch(kGpu, at(7.1));
  next_ = probe_.next(at(7.1));
  EXPECT_EQ(look(7.2), 0);
  EXPECT_EQ(next_, kNever);
  probe_.touch(kGpu, at(9.2));
  next_ = probe_.next(at(9.2));
  EXPECT_EQ(look(9.4), -1) << "the same memory";
  EXPECT_EQ(next_, kNever);
}

TEST_F(ProbeTest, ALookBesideTheOthersIsInPlaceOfNone) {
  probe_.touch(kGpu, at(7.1));
  EXPECT_TRUE(probe_.look({.gpu = kGpu, .used = 2_GiB, .tenants = {}}, at(7.15)).has_value());
  EXPECT_EQ(probe_.next(at(7.15)), at(7.2));
}

TEST_F(ProbeTest, WithoutAPeriodItSeesNothing) {
  Probe off(cluster_, kForever, kStart);
  off.add_load(kGpu, 1, at(1));
  off.touch(kGpu, at(1));
  EXPECT_FALSE(off.is_on());
  EXPECT_EQ(off.next(at(1)), kNever);
}

TEST(ProbedRun, AJobJoinsABusyGpuOnlyAfterItsPatience) {
  const auto second_start = [](int duty, Duration probe_every, const char* after = "2m") {
    trace::Trace trace;
    trace.jobs = {busy_job(0, 1000, 4_GiB, duty), busy_job(180, 100, 4_GiB, duty)};
    const Options options{.rates = {.share = *parse_share("duty")}, .probe_every = probe_every};
    const auto policy = std::string("fifo-skip+idle:share_below_percent=75:share_after=") + after;
    return simulate(trace, gpu_of_16_gib(), *make_policy(policy, "first-fit"), options)
        ->jobs[1]
        .start;
  };
  EXPECT_EQ(second_start(900, seconds(1)), kStart + seconds(180 + 100 / 4));
  EXPECT_EQ(second_start(900, seconds(1), "10s"), kStart + seconds(180 + 10));
  EXPECT_EQ(second_start(300, seconds(1)), kStart + seconds(180));
  EXPECT_EQ(second_start(900, kForever), kStart + seconds(180)) << "nobody knows that it is busy";
}

TEST(ProbedRun, PoliciesLearnOfMemoryWhenTheProbeHasLooked) {
  // The first holds 10 GiB from 30 s on. What polls at 31 s still sees them free if the last look
  // was at 10 s, for the second, which asks too much; and dies of it.
  const auto ooms = [](Duration probe_every, int second) {
    trace::Trace trace;
    trace.jobs = {busy_job(0, 100, 10_GiB, 100), busy_job(second, 10, 16_GiB, 100),
                  busy_job(31, 10, 10_GiB, 100)};
    trace.jobs[0].use = *trace::parse_use_curve("0:0|29:0|30:10240");
    trace.jobs[2].use = *trace::parse_use_curve("0:10240");
    const Options options{.settings = {.admission = {.mode = AdmissionMode::FreeMemory}},
                          .memory = {.retries = 0},
                          .probe_every = probe_every};
    const auto result =
        simulate(trace, gpu_of_16_gib(), *make_policy("fifo-skip", "first-fit"), options);
    return measure(trace, gpu_of_16_gib(), *result).ooms;
  };
  EXPECT_EQ(ooms(kForever, 10), 0);
  EXPECT_EQ(ooms(seconds(1), 10), 0);
  EXPECT_EQ(ooms(minutes(1), 10), 1);
  EXPECT_EQ(ooms(minutes(1), 0), 0) << "a look at 31 s, for a tenant has come since the last one";
}

TEST(ProbedRun, BusyTimeIsThatOfKernelsAndNotOfStarting) {
  trace::Trace trace;
  trace.jobs = {busy_job(0, 100, 4_GiB, 500), busy_job(0, 100, 4_GiB, 500)};
  const Options options{.rates = {.share = *parse_share("duty")}, .costs = {.start = seconds(10)}};
  const auto result = simulate(trace, gpu_of_16_gib(), *make_policy("fifo", "first-fit"), options);
  // Both run at 0.8 for 125 s: 100 of the 135 s of the GPU.
  EXPECT_EQ(result->jobs[0].end, kStart + seconds(135));
  EXPECT_NEAR(*measure(trace, gpu_of_16_gib(), *result).busy, 100 / 135.0, 1e-6);
  for (trace::TraceJob& each : trace.jobs) each.duty = trace::kUnstatedDuty;
  const auto unknown = simulate(trace, gpu_of_16_gib(), *make_policy("fifo", "first-fit"), {});
  EXPECT_FALSE(measure(trace, gpu_of_16_gib(), *unknown).busy.has_value());
}

TEST(ProbedRun, AGpuIsNeverBusierThanAllTheTime) {
  trace::Trace trace;
  trace.jobs = {busy_job(0, 100, 4_GiB, 800), busy_job(50, 100, 4_GiB, 800)};
  const auto result = simulate(trace, gpu_of_16_gib(), *make_policy("fifo", "first-fit"), {});
  EXPECT_NEAR(*measure(trace, gpu_of_16_gib(), *result).busy, (40 + 50 + 40) / 150.0, 1e-6);
}

TEST(ProbedRun, MemoryHeldIsThatOfTenantsOverAllThereIs) {
  trace::Trace trace;
  trace.jobs = {busy_job(0, 100, 8_GiB, 500)};
  trace.jobs[0].use = *trace::parse_use_curve("0:3840|50:3840|51:7936");  // and 256 for its context
  const auto result = simulate(trace, gpu_of_16_gib(), *make_policy("fifo", "first-fit"), {});
  EXPECT_NEAR(*measure(trace, gpu_of_16_gib(), *result).held, (0.25 * 51 + 0.5 * 49) / 100, 0.002);
}

}  // namespace
}  // namespace berth::sim
