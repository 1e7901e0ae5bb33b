// Goal: the measure and the choice of fragmentation gradient descent (Weng et al., ATC 2023).
// Method: a worked example; the definition in floating point on random clusters, node by node and
// GPU by GPU; one placer that remembers, beside fresh ones. The published experiment is run again
// in test/fgd.
#include <gtest/gtest.h>

#include <cmath>

#include "policy/kit/free_share.hpp"
#include "policy/place/fragmentation.hpp"
#include "policy/place/place_on.hpp"

namespace berth {
namespace {

using test::gang;
using test::part;
using test::Scene;

TargetWorkload only(const JobSpec& spec) {
  TargetWorkload workload;
  workload.add({.request = spec.request});
  return workload;
}

TEST(Fragmentation, OfTwoGpusThatAreTooSmall) {
  const Cluster cluster = test::largest_nodes(1);
  const auto classes = only(part(500, 0)).typical();
  const Fragmentation measure(classes, cluster.gpu(GpuId(0)), 1);
  EXPECT_EQ(measure.of({.cpu = 1000, .shares = {300, 300}}), 600);
  EXPECT_EQ(measure.of({.cpu = 1000, .shares = {300, 0}}), 300) << "after a task of 300";
  EXPECT_EQ(measure.of({.cpu = 1000, .shares = {300, 600}}), 300);
}

TEST(Fragmentation, IsAllThatIsFreeWhereCoresLackOrNoGpuIsWanted) {
  const Cluster cluster = test::largest_nodes(1);
  const GpuSpec& gpu = cluster.gpu(GpuId(0));
  const auto hungry = only(part(500, 2000)).typical();
  EXPECT_EQ(Fragmentation(hungry, gpu, 1).of({.cpu = 1999, .shares = {700, 1000}}), 1700);
  EXPECT_EQ(Fragmentation(hungry, gpu, 1).of({.cpu = 2000, .shares = {700, 1000}}), 0);
  const auto without = only(gang(0, 100)).typical();
  EXPECT_EQ(Fragmentation(without, gpu, 1).of({.cpu = 2000, .shares = {700, 1000}}), 1700);
}

TEST(Fragmentation, CoversNineteenTwentiethsOfTheTasks) {
  TargetWorkload workload;
  for (int i = 0; i < 90; ++i) workload.add({.request = gang(1, 0).request});
  for (int i = 0; i < 7; ++i) workload.add({.request = gang(2, 0).request});
  for (int i = 0; i < 3; ++i) workload.add({.request = gang(4, 0).request});
  EXPECT_EQ(workload.typical().size(), 2U);
  for (int i = 0; i < 3; ++i) workload.remove({.request = gang(1, 0).request});
  EXPECT_EQ(workload.typical().front().tasks, 87);
}

/// The definition, word for word.
double fragment(const std::vector<TargetWorkload::Class>& classes, std::int64_t cpu,
                const std::vector<std::int64_t>& shares) {
  double sum = 0;
  double tasks = 0;
  for (const TargetWorkload::Class& of : classes) {
    const GpuRequest& wanted = of.request.gpu;
    const std::int64_t share = wanted.sharing == Sharing::Alone ? 1000 : wanted.milli.raw();
    std::int64_t enough = 0;
    double small = 0;
    double all = 0;
    for (const std::int64_t left : shares) {
      enough += left >= share ? 1 : 0;
      small += left < share ? static_cast<double>(left) : 0;
      all += static_cast<double>(left);
    }
    const bool held =
        wanted.count > GpuCount(0) && enough >= wanted.count.raw() && cpu >= of.request.cpu.raw();
    sum += static_cast<double>(of.tasks) * (held ? small : all);
    tasks += static_cast<double>(of.tasks);
  }
  return sum / tasks;
}

struct Oracle {
  int score = -1;
  bool near = false;  ///< So near a whole number that floating point may fall on either side.
  Placement placement;
};

class Study {
 public:
  Study(Scene& scene, const TargetWorkload& workload)
      : scene_(scene), classes_(workload.typical()) {}

  Oracle best(const JobSpec& spec) const {
    Oracle best;
    const ClusterView view = scene_.view();
    for (std::uint32_t n = 0; n < view.cluster().nodes().size(); ++n) {
      for (const Placement& placement : places(NodeId(n), spec)) {
        const Oracle here = judge(placement, spec);
        if (here.near) best.near = true;
        if (here.score > best.score) {
          best.score = here.score;
          best.placement = placement;
        }
      }
    }
    return best;
  }

 private:
  /// Any GPU for a part, the first vacant ones for a gang.
  std::vector<Placement> places(NodeId id, const JobSpec& spec) const {
    const ClusterView view = scene_.view();
    const NodeSpec& node = view.cluster().node(id);
    const Trial trial = view.trial();
    const Ask ask{.request = spec.request};
    std::vector<Placement> found;
    std::vector<GpuId> gpus;
    for (const GpuId gpu : node.gpu_ids()) {
      if (trial.look(gpu, ask, JobId(1)) == Why::Fits) gpus.push_back(gpu);
    }
    const auto wanted = static_cast<std::size_t>(ask.gpus().raw());
    if (wanted == 1 && !ask.alone()) {
      for (const GpuId gpu : gpus) found.push_back({.gpus = {gpu}, .host = id});
    } else if (gpus.size() >= wanted) {
      gpus.resize(wanted);
      found.push_back({.gpus = gpus, .host = id});
    }
    std::erase_if(found, [&](const Placement& placement) {
      return trial.look(placement, ask, JobId(1)) != Why::Fits;
    });
    return found;
  }

  Oracle judge(const Placement& placement, const JobSpec& spec) const {
    const ClusterView view = scene_.view();
    const NodeSpec& node = view.cluster().node(placement.host);
    const std::int64_t cpu = (node.cpu - view.use().node(placement.host).cpu).raw();
    std::vector<std::int64_t> before;
    std::vector<std::int64_t> after;
    for (const GpuId gpu : node.gpu_ids()) {
      const GpuUse& use = view.use().gpu(gpu);
      before.push_back(use.alone > 0 ? 0 : 1000 - use.milli.raw());
      const bool taken = std::ranges::find(placement.gpus, gpu) != placement.gpus.end();
      const GpuRequest& wanted = spec.request.gpu;
      const std::int64_t share = wanted.sharing == Sharing::Alone ? 1000 : wanted.milli.raw();
      after.push_back(before.back() - (taken ? share : 0));
    }
    const double less =
        fragment(classes_, cpu, before) - fragment(classes_, cpu - spec.request.cpu.raw(), after);
    const double score = 100 / (1 + std::exp(-less / 1000));
    const bool near = std::abs(score - std::round(score)) < 1e-5 && std::abs(less) > 1e-9;
    const bool none = std::abs(less) <= 1e-9;
    return {.score = none ? 50 : static_cast<int>(score), .near = near, .placement = placement};
  }

  Scene& scene_;
  std::vector<TargetWorkload::Class> classes_;
};

JobSpec random_task(Rng& rng) {
  const std::int64_t cpu = rng.between(1, 30) * 1000;
  if (rng.one_in(10)) return gang(0, cpu);
  return rng.one_in(2) ? part(rng.between(1, 9) * 100, cpu) : gang(1 << rng.between(0, 3), cpu);
}

TEST(Fgd, ChoosesAsTheDefinitionDoesAndRemembersNothingWrong) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    TargetWorkload workload;
    for (int i = 0; i < 100; ++i) workload.add({.request = random_task(rng).request});
    Scene scene(test::largest_nodes(5));
    const Study study(scene, workload);
    const auto placer = fgd_for(workload);
    for (int i = 0; i < 60; ++i) {
      const JobSpec spec = random_task(rng);
      const Ask ask{.request = spec.request};
      const Placed placed = placer->place(ask, JobId(1), scene.view().trial());
      const Oracle oracle = study.best(spec);
      ASSERT_EQ(placed.has_value(), oracle.score >= 0) << "seed " << seed << ", task " << i;
      if (!placed) continue;
      if (!oracle.near) {
        ASSERT_EQ(*placed, oracle.placement) << "seed " << seed << ", task " << i;
        ++compared;
      }
      if (ask.gpus() > GpuCount(0)) scene.run_at(spec, *placed);
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Fgd, FollowsTheJobsThereAre) {
  Scene scene(test::largest_nodes(3));
  const auto placer = (*std::ranges::find(placers(), "fgd", &PlacerEntry::name)).make();
  placer->prepare(scene.view(), {});
  Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    const JobSpec spec = random_task(rng);
    const JobId waiting = scene.wait(random_task(rng));
    placer->prepare(scene.view(), std::vector<Event>{{EventKind::Submitted, waiting}});
    const Placed placed = placer->place({.request = spec.request}, JobId(1), scene.view().trial());
    const Placed fresh = test::place_on(scene, "fgd", spec);
    ASSERT_EQ(placed.has_value(), fresh.has_value()) << "task " << i;
    if (!placed) continue;
    ASSERT_EQ(*placed, *fresh) << "task " << i;
    if (spec.request.gpu.count > GpuCount(0)) scene.run_at(spec, *placed);
  }
}

}  // namespace
}  // namespace berth
