// Goal: a job's speed is what the tables and rules say for its place and its neighbours, and
// its end follows when that changes.
// Method: rates looked up one by one; small runs whose ends are worked out by hand.
#include "sim/rates.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

trace::TraceJob job(const char* name, int submit, int run, int gpus, const char* model = "") {
  trace::TraceJob job{.name = name,
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.vram = 1_GiB;
  job.model = model;
  return job;
}

Cluster cluster_of(int nodes, std::uint32_t gpus, const char* type = "v100") {
  Cluster cluster;
  cluster.add_switch();
  for (int i = 0; i < nodes; ++i) {
    cluster.add_node({.name = "n" + std::to_string(i), .gpus = gpus, .vram = 16_GiB, .type = type});
  }
  return cluster;
}

std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> ids) {
  std::vector<GpuId> list;
  for (const std::uint32_t id : ids) list.push_back(GpuId(id));
  return list;
}

/// Ends in seconds, by place in the trace.
std::vector<double> ends(const trace::Trace& trace, const Cluster& cluster, const Options& options,
                         const char* place = "first-fit") {
  const auto result = simulate(trace, cluster, *make_policy("fifo-skip", place), options);
  std::vector<double> list;
  for (const JobResult& one : result->jobs) list.push_back(in_seconds(one.end - kStart));
  return list;
}

TEST(Rates, WithoutAModelAreFull) {
  const RateModel model;
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 1), job("b", 0, 10, 1)};
  const Cluster cluster = cluster_of(1, 1);
  const Rates rates(model, trace, cluster);
  Tenants tenants(cluster);
  tenants.add(0, gpus({0}));
  tenants.add(1, gpus({0}));
  EXPECT_TRUE(model.is_plain());
  EXPECT_EQ(rates.of(0, gpus({0}), tenants).rate, kFullSpeed);
}

TEST(Rates, ByRuleOfHowTheGpuIsShared) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 1, "busy"), job("b", 0, 10, 1, "calm"), job("c", 0, 10, 1)};
  trace.jobs[2].spec.request.gpu.milli = GpuMilli(250);
  const Cluster cluster = cluster_of(1, 2);
  Tenants tenants(cluster);
  for (const std::size_t tenant : {0U, 1U, 2U}) tenants.add(tenant, gpus({0}));

  RateModel model{.share = *parse_share("timeslice")};
  EXPECT_EQ(Rates(model, trace, cluster).of(0, gpus({0}), tenants),
            (Pace{.rate = Rate(333'333), .shares = true, .ruled = true}));
  model = {.share = *parse_share("mps")};
  model.speeds.add_utilisation("busy", Rate(900'000));
  model.speeds.add_utilisation("calm", Rate(100'000));
  // 0.9 + 0.1 + 0.25, the last by what the job asks for.
  EXPECT_EQ(Rates(model, trace, cluster).of(1, gpus({0}), tenants).rate, Rate(800'000));
  tenants.remove(0, gpus({0}));
  EXPECT_EQ(Rates(model, trace, cluster).of(1, gpus({0}), tenants).rate, kFullSpeed);
}

TEST(Rates, AMeasuredPairGoesBeforeTheRule) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 1, "x"), job("b", 0, 10, 1, "y"), job("c", 0, 10, 1, "z")};
  const Cluster cluster = cluster_of(1, 1);
  RateModel model{.share = *parse_share("timeslice")};
  model.speeds.add_pair("x", 0, "y", Rate(800'000));
  model.speeds.add_pair("x", 0, "z", Rate(500'000));
  const Rates rates(model, trace, cluster);
  Tenants tenants(cluster);
  tenants.add(0, gpus({0}));
  tenants.add(1, gpus({0}));
  EXPECT_EQ(rates.of(0, gpus({0}), tenants), (Pace{.rate = Rate(800'000), .shares = true}));
  EXPECT_EQ(rates.of(1, gpus({0}), tenants),
            (Pace{.rate = Rate(500'000), .shares = true, .ruled = true}));
  tenants.add(2, gpus({0}));  // both pairs were measured: one slow-down on top of the other
  EXPECT_EQ(rates.of(0, gpus({0}), tenants).rate, Rate(400'000));
  model.speeds.add_pair("x", 0, Speeds::neighbour_on("z", cluster.type_names()[0]), Rate(250'000));
  EXPECT_EQ(rates.of(0, gpus({0}), tenants).rate, Rate(200'000)) << "measured on this type of GPU";
}

TEST(Rates, SpreadAndTypeSlowTheWholeGang) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 2, "vgg16"), job("b", 0, 10, 2, "other")};
  Cluster cluster = cluster_of(2, 2);
  cluster.add_node({.name = "old", .gpus = 2, .vram = 16_GiB, .type = "k80"});
  RateModel model{.spread = Rate(700'000)};
  model.speeds.add_spread("vgg16", 2, 2, Rate(900'000));
  model.speeds.add_type("vgg16", 0, "k80", Rate(250'000));
  const Rates rates(model, trace, cluster);
  const Tenants tenants(cluster);
  EXPECT_EQ(rates.of(0, gpus({0, 1}), tenants).rate, kFullSpeed);
  EXPECT_EQ(rates.of(0, gpus({1, 2}), tenants).rate, Rate(900'000));
  EXPECT_EQ(rates.of(1, gpus({1, 2}), tenants).rate, Rate(700'000));  // no table: the default
  EXPECT_EQ(rates.of(0, gpus({4, 5}), tenants).rate, Rate(250'000));
  EXPECT_EQ(rates.of(0, gpus({3, 4}), tenants).rate, Rate(225'000));  // the slowest of both, spread
  EXPECT_EQ(rates.of(1, gpus({4, 5}), tenants).rate, kFullSpeed);     // unknown there: as usual
}

TEST(Rates, WhatNoTableSaysOfATypeOrASpreadIsByRule) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 2, "known"), job("b", 0, 10, 2, "other")};
  Cluster cluster = cluster_of(2, 2);
  const std::string type = cluster.type_names().front();
  RateModel model;
  const Tenants tenants(cluster);
  const auto is_ruled = [&](std::size_t job, std::vector<std::uint32_t> on) {
    std::vector<GpuId> where;
    for (const std::uint32_t gpu : on) where.emplace_back(gpu);
    return Rates(model, trace, cluster).of(job, where, tenants).ruled;
  };
  EXPECT_FALSE(is_ruled(1, {1, 2})) << "no table, no rule: a perfect machine";
  model.speeds.add_type("known", 2, type, kFullSpeed);
  EXPECT_FALSE(is_ruled(0, {0, 1}));
  EXPECT_TRUE(is_ruled(1, {0, 1})) << "full speed, since nobody measured it on this type";
  model = {.spread = Rate(700'000)};
  model.speeds.add_spread("known", 2, 2, Rate(900'000));
  EXPECT_FALSE(is_ruled(0, {1, 2}));
  EXPECT_FALSE(is_ruled(1, {0, 1}));
  EXPECT_TRUE(is_ruled(1, {1, 2}));
}

TEST(Rates, AnEndMovesWhenCompanyComesAndGoes) {
  // One GPU, taken in turns: `a` has 50 s alone, then shares until `b` has had its 30 s, at half
  // speed each from 50 s to 110 s; the 20 s that `a` has left then it runs alone.
  trace::Trace trace;
  trace.jobs = {job("a", 0, 100, 1), job("b", 50, 30, 1)};
  const Options options{.rates = {.share = *parse_share("timeslice")}};
  EXPECT_EQ(ends(trace, cluster_of(1, 1), options), (std::vector<double>{130, 110}));
  EXPECT_EQ(ends(trace, cluster_of(1, 1), {}), (std::vector<double>{100, 80}));
}

TEST(Rates, ThreeTenantsOneOfThemOnTwoGpus) {
  // `gang` has both GPUs; `b` comes to GPU 0 and `c`, at 10 s, to GPU 0 as well: first-fit. The
  // gang goes as its slowest GPU: 1/2 up to 10 s, then 1/3. `b`: 5 s of 15 are done by 10 s, 10 s
  // more take 30: it ends at 40, when `c` has 10 of its 20 done and goes on at 1/2, to 60. The
  // gang has 5 + 10 + 10 of 40 then, and runs its last 15 s alone.
  trace::Trace trace;
  trace.jobs = {job("gang", 0, 40, 2), job("b", 0, 15, 1), job("c", 10, 20, 1)};
  const Options options{.rates = {.share = *parse_share("timeslice")}};
  const std::vector<double> at = ends(trace, cluster_of(1, 2), options);
  EXPECT_NEAR(at[1], 40, 1e-4);
  EXPECT_NEAR(at[2], 60, 1e-4);
  EXPECT_NEAR(at[0], 75, 1e-4);
}

TEST(Rates, WhatSharingCostIsCounted) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 100, 1, "x"), job("b", 50, 30, 1, "y")};
  Options options{.rates = {.share = *parse_share("timeslice")}};
  options.rates.speeds.add_pair("x", 0, "y", Rate(500'000));
  const auto cluster = cluster_of(1, 1);
  const auto result = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
  const Metrics metrics = measure(trace, cluster, *result);
  ASSERT_TRUE(metrics.machine.has_value());
  EXPECT_DOUBLE_EQ(metrics.wait.max, 0);  // slow is not waiting
  EXPECT_DOUBLE_EQ(metrics.run_over_alone.max, 2);
  EXPECT_DOUBLE_EQ(metrics.run_over_alone.mean, (1.3 + 2) / 2);
  EXPECT_DOUBLE_EQ(metrics.machine->gpu_hours, (130 + 60) / 3600.0);
  EXPECT_DOUBLE_EQ(metrics.machine->shared_gpu_hours, 120 / 3600.0);
  EXPECT_DOUBLE_EQ(metrics.machine->ruled_gpu_hours, 60 / 3600.0);  // of `b` beside `a`
  const auto plain = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), {});
  EXPECT_FALSE(measure(trace, cluster, *plain).machine.has_value());
}

TEST(Rates, SwitchingTakesItsPartOfTurns) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 1), job("b", 0, 10, 1)};
  const Cluster cluster = cluster_of(1, 1);
  const RateModel model{.share = *parse_share("timeslice:5%")};
  Tenants tenants(cluster);
  tenants.add(0, gpus({0}));
  EXPECT_EQ(Rates(model, trace, cluster).of(0, gpus({0}), tenants).rate, kFullSpeed);
  tenants.add(1, gpus({0}));
  EXPECT_EQ(Rates(model, trace, cluster).of(0, gpus({0}), tenants).rate, Rate(475'000));
}

TEST(Rates, FollowTheNumberOfGpusGranted) {
  trace::Trace trace;
  trace.jobs = {job("a", 0, 10, 2, "vgg16"), job("b", 0, 10, 2, "other")};
  const Cluster cluster = cluster_of(2, 2);
  RateModel model{.spread = Rate(700'000)};
  for (const auto& [count, step] : {std::pair(1, 100), {2, 60}, {4, 40}}) {
    model.speeds.scaling().add("vgg16", count, 0, step);
  }
  model.speeds.add_type("vgg16", 0, "k80", Rate(500'000));
  const Rates rates(model, trace, cluster);
  // What a job that was given another number would run at.
  const Tenants tenants(cluster);
  EXPECT_EQ(rates.of(0, gpus({0}), tenants).rate, Rate(600'000));
}

TEST(Rates, ADutyOfTheTraceGoesBeforeTheTableAndWhatIsAsked) {
  trace::Trace trace;
  for (const char* name : {"a", "b"}) trace.jobs.push_back(one_gpu_job(name, 0, 1));
  trace.jobs[0].spec.request.gpu.milli = GpuMilli(900);
  const Cluster cluster = *trace::parse_cluster("1x1");
  Tenants tenants(cluster);
  const std::vector<GpuId> gpu = {GpuId(0)};
  for (const std::size_t job : {0U, 1U}) tenants.add(job, gpu);
  const RateModel model{.share = *parse_share("duty"), .utilisation = Rate(500'000)};
  const auto rate = [&] { return Rates(model, trace, cluster).of(0, gpu, tenants).rate; };
  EXPECT_EQ(rate(), Rate(1'000'000'000 / 1450)) << "0.9 is asked, 0.5 the general one";
  trace.jobs[0].duty = GpuMilli(500);
  EXPECT_EQ(rate(), Rate(800'000));
  trace.jobs[1].duty = GpuMilli(0);
  EXPECT_EQ(rate(), kFullSpeed);
}

}  // namespace
}  // namespace berth::sim
