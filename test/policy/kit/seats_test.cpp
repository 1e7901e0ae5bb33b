// Goal: a seat counts against its user's limits by the GPUs it has, not by those its job asks for.
// Method: an elastic job that asks for one GPU has a seat of three, and its user may have four.
#include "policy/kit/seats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

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
  const JobId runs = scene_.run(test::whole(3, kForever), {0, 1, 2});
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
  EXPECT_TRUE(seating.stay(runs));
  EXPECT_FALSE(seat(seating, two));
}

}  // namespace
}  // namespace berth
