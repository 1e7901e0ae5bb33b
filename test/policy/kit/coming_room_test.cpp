// Goal: what is promised fits once those that leave have left, and a job that turns out to be in
// nobody's way stays.
// Method: one node of four GPUs, full of jobs.
#include "policy/kit/coming_room.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

class ComingRoomTest : public testing::Test {
 protected:
  static Ask ask_for(std::int64_t gpus) {
    return {.request = {.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone}}};
  }

  test::Scene scene_{test::uniform(1, 4)};
  JobId first_ = scene_.run(test::whole(2, kForever), {0, 1});
  JobId second_ = scene_.run(test::whole(1, kForever), {2});
  JobId waiting_ = scene_.wait(test::whole(2, kForever));
  JobId other_ = scene_.wait(test::whole(2, kForever));
  ClusterView view_ = scene_.view();
  Trial trial_ = view_.trial();
  std::unique_ptr<Placer> count_ =
      (*std::ranges::find(placers(), "count", &PlacerEntry::name)).make();
  Vacancy vacancy_;
  ComingRoom room_{view_, *count_, trial_, vacancy_};
};

TEST_F(ComingRoomTest, IsThereForOneJobOnly) {
  EXPECT_EQ(room_.place(waiting_, ask_for(1)), std::nullopt) << "nobody leaves";
  room_.add(first_);
  const Occupancy before = trial_.use();
  const auto place = room_.place(waiting_, ask_for(3));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->gpus, (std::vector{GpuId(0), GpuId(1), GpuId(3)}));
  EXPECT_EQ(trial_.use(), before) << "the trial is left as it was";
  room_.promise(waiting_, ask_for(3), *place);
  EXPECT_EQ(room_.place(other_, ask_for(1)), std::nullopt);
  EXPECT_NE(room_.look(*place, ask_for(3), other_), Why::Fits);
  ASSERT_EQ(room_.promised().size(), 1U);
  EXPECT_EQ(room_.promised().front().job, waiting_);
}

TEST_F(ComingRoomTest, SparesAJobWhoseRoomIsNotNeeded) {
  room_.add(second_);
  room_.promise(waiting_, ask_for(1), {.gpus = {GpuId(2)}, .host = NodeId(0)});
  EXPECT_TRUE(room_.spare(second_, ask_for(1))) << "another GPU is free for the job promised";
  EXPECT_TRUE(room_.leaving().empty());
  EXPECT_EQ(room_.promised().front().placement.gpus, std::vector{GpuId(3)});
  EXPECT_EQ(trial_.use().vacant(), GpuCount(0));
}

TEST_F(ComingRoomTest, DoesNotSpareAJobWhoseRoomIsPromised) {
  room_.add(second_);
  const auto place = room_.place(waiting_, ask_for(2));
  ASSERT_TRUE(place);
  room_.promise(waiting_, ask_for(2), *place);
  const Occupancy before = trial_.use();
  EXPECT_FALSE(room_.spare(second_, ask_for(1)));
  EXPECT_EQ(trial_.use(), before);
  EXPECT_EQ(room_.leaving().size(), 1U);
}

}  // namespace
}  // namespace berth
