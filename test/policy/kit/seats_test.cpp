// Goal: a seat counts against its user's limits by the GPUs it has, not by those its job asks for;
// jobs that share GPUs have a seat all or none.
// Method: an elastic job that asks for one GPU has a seat of three, and its user may have four;
// every sequence of seats on two GPUs; two jobs that fit together, and two that do not.
#include "policy/kit/seats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "policy/registry.hpp"
#include "policy/scene.hpp"
#include "support/every_way.hpp"

namespace berth {
namespace {

JobSpec one_to_four() {
  JobSpec spec = test::whole(1, kForever);
  spec.request.gpu.min = GpuCount(1);
  spec.request.gpu.max = GpuCount(4);
  return spec;
}

class Seats : public testing::Test {
 protected:
  bool seat(Seating& seating, JobId job) const {
    return seating.seat(job, ask_of(scene_.view().job(job)));
  }

  test::Scene scene_{test::uniform(1, 8), Settings{.limits = {.gpus = GpuCount(4)}}};
  std::unique_ptr<Placer> placer_ =
      (*std::ranges::find(placers(), "first-fit", &PlacerEntry::name)).make();
};

TEST_F(Seats, CountTheGpusThatTheyHave) {
  const JobId grown = scene_.wait(one_to_four());
  const JobId two = scene_.wait(test::whole(2, kForever));
  const JobId one = scene_.wait(test::whole(1, kForever));
  const ClusterView view = scene_.view();
  Trial trial = view.trial();
  Seating seating(view, *placer_, trial);
  const Placement three{.gpus = {GpuId(0), GpuId(1), GpuId(2)}, .host = NodeId(0)};
  ASSERT_TRUE(seating.hold(grown, ask_of(view.job(grown)), three));
  EXPECT_FALSE(seat(seating, two));
  EXPECT_TRUE(seat(seating, one));
  EXPECT_FALSE(seat(seating, one)) << "four of four";
}

TEST_F(Seats, AreGivenOnAsManyGpusAsTheLimitLeaves) {
  const JobId other = scene_.wait(test::whole(2, kForever));
  const JobId grows = scene_.wait(one_to_four());
  const ClusterView view = scene_.view();
  Trial trial = view.trial();
  Seating seating(view, *placer_, trial);
  ASSERT_TRUE(seat(seating, other));
  EXPECT_FALSE(seating.seat(grows, ask_of(view.job(grows), GpuCount(3))));
  EXPECT_TRUE(seating.seat(grows, ask_of(view.job(grows), GpuCount(2))));
}

TEST_F(Seats, ThatStayCountThoughTheirPlaceTakesNoJob) {
  JobSpec left_alone = test::whole(3, kForever);
  left_alone.suspending = Suspending::No;
  const JobId runs = scene_.run(left_alone, {0, 1, 2});
  const JobId two = scene_.wait(test::whole(2, kForever));
  scene_.state().ledger.set_gpu(scene_.state().cluster, GpuId(0), [&] {
    GpuUse use = scene_.state().ledger.use().gpu(GpuId(0));
    use.healthy = false;
    return use;
  }());
  const ClusterView view = scene_.view();
  Trial trial = view.trial();
  clear(trial, view);
  Seating seating(view, *placer_, trial);
  EXPECT_FALSE(seating.keep(runs, ask_of(view.job(runs))));
  const std::vector<JobId> both = {runs, two};
  EXPECT_EQ(seating.keep_left_alone(both), std::set<JobId>{runs});
  EXPECT_FALSE(seat(seating, two));
}

TEST_F(Seats, OfJobsTogetherAreForAllOfThemOrNone) {
  const auto of_memory = [](std::int64_t gib) {
    JobSpec spec = test::whole(1, kForever);
    spec.request.gpu.vram = Bytes(gib << 30);
    spec.request.gpu.sharing = Sharing::Shared;
    return spec;
  };
  const std::vector<JobId> fit = {scene_.wait(of_memory(8)), scene_.wait(of_memory(10))};
  // Beside another there must be a guard band, which the sum does not know of.
  const std::vector<JobId> do_not = {scene_.wait(of_memory(12)), scene_.wait(of_memory(12))};
  const ClusterView view = scene_.view();
  const auto all = [&](const std::vector<JobId>& jobs) {
    return *together(std::vector{ask_of(view.job(jobs[0])), ask_of(view.job(jobs[1]))});
  };
  Trial trial = view.trial();
  Seating seating(view, *placer_, trial);
  EXPECT_EQ(all(fit).request.gpu.vram, Bytes(18LL << 30));
  EXPECT_TRUE(seating.seat(fit, all(fit)));
  const auto before = trial.use().gpu(GpuId(1));
  EXPECT_FALSE(seating.seat(do_not, all(do_not)));
  EXPECT_EQ(trial.use().gpu(GpuId(1)), before) << "neither is there";
  EXPECT_TRUE(seat(seating, do_not[0])) << "nor counted against its user's limit";
  const auto seats = seating.take();
  ASSERT_EQ(seats.size(), 2U);
  EXPECT_EQ(seats[0].jobs, fit);
  EXPECT_EQ(seats[0].place.gpus, std::vector{GpuId(0)});
}

TEST(Together, AreNoJobsThatDifferInGpusOrAreToBeAlone) {
  test::Scene scene(test::uniform(1, 8));
  const JobId alone = scene.wait(test::whole(1, kForever));
  JobSpec spec = test::whole(1, kForever);
  spec.request.gpu.vram = Bytes(1LL << 30);
  spec.request.gpu.sharing = Sharing::Shared;
  Ask one = ask_of(scene.look(scene.wait(spec)));
  Ask two = one;
  two.request.gpu.count = GpuCount(2);
  EXPECT_TRUE(together(std::vector{one, one}));
  EXPECT_FALSE(together(std::vector{one, two}));
  EXPECT_FALSE(together(std::vector{one, ask_of(scene.look(alone))}));
  two = one;
  one.request.gpu.types = 1;
  two.request.gpu.types = 2;
  EXPECT_FALSE(together(std::vector{one, two}));
}

/// Every sequence of seats given and places held, against lists of who has which GPU.
TEST(SeatsOfTinyWorlds, AreWithinRoomAndLimit) {
  constexpr std::size_t kJobs = 3;
  test::EveryWay ways;
  while (ways.next() && !testing::Test::HasFailure()) {
    const GpuCount limit(static_cast<std::int64_t>(ways.up_to(2)));  // 0: none
    test::Scene scene(test::uniform(2, 1), Settings{.limits = {.gpus = limit}});
    JobSpec one_or_two = test::whole(1, kForever);
    one_or_two.request.gpu.min = GpuCount(1);
    one_or_two.request.gpu.max = GpuCount(2);
    const std::vector<JobId> jobs = {scene.wait(test::whole(1, kForever)),
                                     scene.wait(test::whole(2, kForever)), scene.wait(one_or_two)};
    const auto placer = (*std::ranges::find(placers(), "first-fit", &PlacerEntry::name)).make();
    const ClusterView view = scene.view();
    Trial trial = view.trial();
    Seating seating(view, *placer, trial);
    std::vector<std::optional<JobId>> owners(2);
    std::vector<Seat> expected;
    std::vector<JobId> left = jobs;
    for (std::size_t step = 0; step < kJobs; ++step) {
      const JobId job = ways.one_of(left);
      std::erase(left, job);
      const GpuRequest& asked = view.job(job).request().gpu;
      const GpuCount taken(std::ranges::count_if(owners, &std::optional<JobId>::has_value));
      // 0: a seat of the placer's choice; 1 to 3: a place of these GPUs.
      const std::size_t at = ways.up_to(3);
      Placement place{.gpus = {}, .host = NodeId(0)};
      for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
        const bool is_in = at == 0 ? !owners[gpu] && std::ssize(place.gpus) < asked.count.raw()
                                   : (at >> gpu & 1) != 0;
        if (is_in) place.gpus.emplace_back(gpu);
      }
      const GpuCount gpus(std::ssize(place.gpus));
      const bool is_free = std::ranges::all_of(
          place.gpus, [&](GpuId gpu) { return !owners[gpu.value()].has_value(); });
      const bool is_right =
          at == 0 ? gpus == asked.count : asked.least() <= gpus && gpus <= asked.most();
      const bool is_allowed = limit == GpuCount(0) || taken + gpus <= limit;
      const bool may = is_free && is_right && is_allowed;
      if (!place.gpus.empty()) place.host = view.cluster().node_of(place.gpus.front());
      const Ask ask = ask_of(view.job(job));
      EXPECT_EQ(at == 0 ? seating.seat(job, ask) : seating.hold(job, ask, place), may)
          << ways.text();
      if (!may) continue;
      for (const GpuId gpu : place.gpus) owners[gpu.value()] = job;
      expected.push_back({.jobs = {job}, .ask = ask, .place = place});
    }
    const std::vector<Seat> seats = seating.take();
    EXPECT_TRUE(std::ranges::equal(seats, expected, [](const Seat& a, const Seat& b) {
      return a.jobs == b.jobs && a.place == b.place;
    })) << ways.text();
  }
  EXPECT_GT(ways.runs(), 1'000U);
}

}  // namespace
}  // namespace berth
