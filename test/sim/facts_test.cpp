// Goal: the facts in the view are enough to write a policy that resizes jobs, one that reads
// speeds, and one that hands out leases.
//
// Method: toy policies in a few lines, run by the simulator on small traces; ends and service are
// worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/policy.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

std::vector<GpuId> vacant_gpus(const ClusterView& view) {
  std::vector<GpuId> gpus;
  for (const GpuId gpu : view.cluster().gpu_ids()) {
    if (view.tenants_of(gpu).empty()) gpus.push_back(gpu);
  }
  return gpus;
}

Placement place_on(const ClusterView& view, std::span<const GpuId> gpus) {
  return {.gpus = {gpus.begin(), gpus.end()}, .host = view.cluster().node_of(gpus.front())};
}

/// All jobs have as many GPUs each, as far as they run with so many.
class EqualParts final : public Policy {
 public:
  Decisions decide(const ClusterView& view, std::span<const Event>) override {
    Decisions decisions;
    if (view.job_count() == 0) return decisions;
    const GpuCount part(view.cluster().gpu_count().raw() /
                        static_cast<std::int64_t>(view.job_count()));
    const auto wanted = [&](const JobView& job) {
      const GpuRequest& asked = job.request().gpu;
      return std::clamp(part, asked.least(), asked.most());
    };
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      const bool stops = job.state() == JobState::Stopping;
      if (!stops && job.gpus() != wanted(job)) decisions.list.push_back(Preempt{.job = id});
    }
    std::vector<GpuId> vacant = vacant_gpus(view);
    view.for_each_pending([&](const JobView& job) {
      const auto count = static_cast<std::size_t>(wanted(job).raw());
      if (vacant.size() < count) return;
      const auto gpus = std::span(vacant).first(count);
      decisions.list.push_back(berth::Start{.job = job.id(), .placement = place_on(view, gpus)});
      vacant.erase(vacant.begin(), vacant.begin() + static_cast<std::ptrdiff_t>(count));
    });
    return decisions;
  }
};

/// A vacant GPU goes to the job that would lose most elsewhere. Jobs have one GPU each.
class WhereItMatters final : public Policy {
 public:
  Decisions decide(const ClusterView& view, std::span<const Event>) override {
    Decisions decisions;
    std::vector<JobId> waiting;
    view.for_each_pending([&](const JobView& job) { waiting.push_back(job.id()); });
    for (const GpuId gpu : vacant_gpus(view)) {
      if (waiting.empty()) break;
      const auto chosen = std::ranges::max_element(
          waiting, {}, [&](JobId id) { return advantage(view, view.job(id), gpu); });
      const std::vector<GpuId> gpus = {gpu};
      decisions.list.push_back(berth::Start{.job = *chosen, .placement = place_on(view, gpus)});
      waiting.erase(chosen);
    }
    return decisions;
  }

 private:
  /// How much faster it is here than where it is slowest, in millionths.
  static std::int64_t advantage(const ClusterView& view, const JobView& job, GpuId gpu) {
    Rate slowest(Rate::kMost);
    for (std::uint8_t type = 0; type < view.cluster().type_names().size(); ++type) {
      slowest = std::min(slowest, view.speed(job, {.gpus = 1, .nodes = 1, .type = type}));
    }
    const std::vector<GpuId> gpus = {gpu};
    return view.speed(job, place_on(view, gpus)).ppm() - slowest.ppm();
  }
};

/// First come, first served on whole nodes, for ten seconds at a time.
class Turns final : public Policy {
 public:
  Decisions decide(const ClusterView& view, std::span<const Event>) override {
    Decisions decisions;
    std::vector<JobView> waiting;
    view.for_each_pending([&](const JobView& job) { waiting.push_back(job); });
    std::ranges::stable_sort(waiting, {}, &JobView::ran);
    const std::vector<GpuId> vacant = vacant_gpus(view);
    if (waiting.empty() || vacant.empty()) return decisions;
    decisions.list.push_back(berth::Start{.job = waiting.front().id(),
                                          .placement = place_on(view, std::span(vacant).first(1)),
                                          .term = seconds(10)});
    return decisions;
  }
};

trace::TraceJob job(int submit, int run, int gpus, const char* model) {
  trace::TraceJob job{.name = model,
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  job.model = model;
  return job;
}

Cluster one_node(std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = gpus, .vram = Bytes(1 << 30), .type = "v100"});
  return cluster;
}

std::vector<double> ends(const Result& result) {
  std::vector<double> list;
  for (const JobResult& one : result.jobs) list.push_back(in_seconds(one.end - kStart));
  return list;
}

/// `a` has all four GPUs, twice those it asks for, for 10 s and does 20 of its 100 s. Then both
/// have two: `b` needs 60 s, in which `a` does 60 more, and 10 s on four GPUs for the last 20.
TEST(Toys, AnElasticPolicyResizesJobs) {
  trace::Trace trace;
  trace.jobs = {job(0, 100, 2, "a"), job(10, 60, 2, "b")};
  Options options;
  for (trace::TraceJob& one : trace.jobs) {
    one.spec.request.gpu.min = GpuCount(1);
    one.spec.request.gpu.max = GpuCount(4);
    for (const auto& [gpus, step] : {std::pair(1, 200), {2, 100}, {4, 50}}) {
      options.rates.speeds.scaling().add(one.model, gpus, 0, step);
    }
  }
  const Cluster cluster = one_node(4);
  const auto result = simulate(trace, cluster, std::make_unique<EqualParts>(), options);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(ends(*result), (std::vector<double>{80, 70}));
  EXPECT_EQ(result->dropped, 0U);
  EXPECT_EQ(result->use.allocated, 4 * 80.0);
}

/// Without a table fewer GPUs are as much slower: 10 s alone on two, then one each. `a` does 10 of
/// 40 s and half of `b`'s 60 s; `b` is alone for the rest.
TEST(Toys, FewerGpusAreAsMuchSlower) {
  trace::Trace trace;
  trace.jobs = {job(0, 40, 2, "a"), job(10, 60, 2, "b")};
  for (trace::TraceJob& one : trace.jobs) {
    one.spec.request.gpu.min = GpuCount(1);
    one.spec.request.gpu.max = GpuCount(2);
  }
  const auto result = simulate(trace, one_node(2), std::make_unique<EqualParts>(), {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(ends(*result), (std::vector<double>{70, 100}));
}

/// `picky` takes four times as long on the old GPU, `easy` a tenth longer.
TEST(Toys, APolicyThatReadsSpeedsPutsJobsWhereTheyAreFast) {
  trace::Trace trace;
  trace.jobs = {job(0, 90, 1, "easy"), job(0, 100, 1, "picky")};
  Cluster cluster = one_node(1);
  cluster.add_node({.name = "m", .gpus = 1, .vram = Bytes(1 << 30), .type = "k80"});
  Options options;
  options.rates.speeds.add_type("picky", 0, "k80", Rate(250'000));
  options.rates.speeds.add_type("easy", 0, "k80", Rate(900'000));
  options.rates.speeds.add_type("", 0, "v100", kFullSpeed);
  const auto run = [&](const ToldSpeeds& told) {
    options.told_speeds = told;
    return ends(*simulate(trace, cluster, std::make_unique<WhereItMatters>(), options));
  };
  EXPECT_EQ(run({}), (std::vector<double>{100, 100}));
  EXPECT_EQ(run({.error_percent = 20}), (std::vector<double>{100, 100})) << "still far apart";
  EXPECT_EQ(run({.table = false}), (std::vector<double>{90, 400})) << "told nothing";
}

/// 10 s each in turn: `a` has 25 s to do, `b` 15 s.
TEST(Toys, LeasesEndByThemselves) {
  trace::Trace trace;
  trace.jobs = {job(0, 25, 1, "a"), job(0, 15, 1, "b")};
  const auto result = simulate(trace, one_node(1), std::make_unique<Turns>(), {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(ends(*result), (std::vector<double>{40, 35}));
  EXPECT_EQ(result->jobs[0].preemptions, 0);
}

TEST(ToldSpeeds, AreExactWrongOrLearned) {
  EXPECT_EQ(parse_told_speeds("exact"), ToldSpeeds());
  EXPECT_EQ(parse_told_speeds("learned"), ToldSpeeds{.table = false});
  EXPECT_EQ(parse_told_speeds("+-20%"), ToldSpeeds{.error_percent = 20});
  EXPECT_EQ(parse_told_speeds("20%").error().message,
            "--told-speeds: '20%' is not exact, learned, or +-N% with N from 0 to 99");
  RateModel model{.spread = Rate(800'000)};
  model.speeds.add_type("a", 0, "k80", Rate(500'000));
  const Speeds told = told_speeds(model, {.error_percent = 10}, 7);
  const auto rate = told.on_type("a", 0, "k80");
  ASSERT_TRUE(rate.has_value());
  EXPECT_NE(*rate, Rate(500'000));
  EXPECT_GE(*rate, Rate(450'000));
  EXPECT_LE(*rate, Rate(550'000));
  EXPECT_EQ(told.unmeasured_spread(), Rate(800'000));
  EXPECT_EQ(told, told_speeds(model, {.error_percent = 10}, 7)) << "by the seed";
  EXPECT_NE(told, told_speeds(model, {.error_percent = 10}, 8));
}

}  // namespace
}  // namespace berth::sim
