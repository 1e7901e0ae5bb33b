// Goal: counting says "too few" only where a placement would find no place.
// Method: two nodes of four GPUs, full of jobs that leave one by one.
#include "policy/kit/vacancy.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

class VacancyTest : public testing::Test {
 protected:
  static Ask ask_for(std::int64_t gpus) {
    return {.request = {.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone}}};
  }
  static std::unique_ptr<Placer> placer(const char* name) {
    return (*std::ranges::find(placers(), name, &PlacerEntry::name)).make();
  }
  const Grant& grant(JobId job) const { return view_.find(job)->grant; }

  test::Scene scene_{test::uniform(2, 4)};
  JobId left_ = scene_.run(test::whole(2, kForever), {0, 1});
  JobId right_ = scene_.run(test::whole(2, kForever), {4, 5});
  JobId both_ = scene_.run(test::whole(4, kForever), {2, 3, 6, 7});
  ClusterView view_ = scene_.view();
  Trial trial_ = view_.trial();
  std::unique_ptr<Placer> consolidated_ = placer("consolidated");
  std::unique_ptr<Placer> count_ = placer("count");
  Vacancy vacancy_;
};

TEST_F(VacancyTest, CountsGpusWhereAnyWillDo) {
  ASSERT_TRUE(vacancy_.begin(ask_for(4), *count_, trial_));
  vacancy_.leave(grant(left_));
  EXPECT_FALSE(vacancy_.may_fit());
  vacancy_.leave(grant(right_));
  EXPECT_TRUE(vacancy_.may_fit());
  EXPECT_TRUE(vacancy_.enough().empty()) << "no node has them all, nor need it";
}

TEST_F(VacancyTest, CountsNodeByNodeWhereOneMustHaveThemAll) {
  ASSERT_TRUE(vacancy_.begin(ask_for(4), *consolidated_, trial_));
  vacancy_.leave(grant(left_));
  vacancy_.leave(grant(right_));
  EXPECT_FALSE(vacancy_.may_fit());
  vacancy_.leave(grant(both_));
  EXPECT_TRUE(vacancy_.may_fit());
  EXPECT_EQ(vacancy_.enough().size(), 2U) << "the last one made room on both";
}

TEST_F(VacancyTest, NamesTheOneNodeThatHasEnough) {
  ASSERT_TRUE(vacancy_.begin(ask_for(2), *consolidated_, trial_));
  vacancy_.leave(grant(right_));
  EXPECT_TRUE(vacancy_.may_fit());
  ASSERT_EQ(vacancy_.enough().size(), 1U);
  EXPECT_EQ(vacancy_.enough().front(), NodeId(1));
}

TEST_F(VacancyTest, AddsUpOverNodesForAnAskThatNeedsSeveral) {
  ASSERT_TRUE(vacancy_.begin(ask_for(6), *consolidated_, trial_));
  vacancy_.leave(grant(both_));
  EXPECT_FALSE(vacancy_.may_fit());
  vacancy_.leave(grant(left_));
  EXPECT_TRUE(vacancy_.may_fit());
}

TEST_F(VacancyTest, LeavesGpusTakenThatAreBeingFreedForAnother) {
  trial_.put(ask_for(1), {.gpus = {GpuId(0)}, .host = NodeId(0)});
  ASSERT_TRUE(vacancy_.begin(ask_for(2), *count_, trial_));
  vacancy_.stop(grant(left_));
  EXPECT_FALSE(vacancy_.may_fit());
  vacancy_.stop(grant(right_));
  EXPECT_TRUE(vacancy_.may_fit());
}

TEST_F(VacancyTest, ForgetsTheAskBefore) {
  ASSERT_TRUE(vacancy_.begin(ask_for(2), *consolidated_, trial_));
  vacancy_.leave(grant(left_));
  ASSERT_TRUE(vacancy_.begin(ask_for(4), *consolidated_, trial_));
  vacancy_.leave(grant(both_));
  EXPECT_FALSE(vacancy_.may_fit());
  EXPECT_TRUE(vacancy_.enough().empty());
}

TEST_F(VacancyTest, DoesNotDecideForPartsOfGpus) {
  Ask ask = ask_for(1);
  ask.request.gpu.vram = Bytes(std::int64_t{4} << 30);
  ask.request.gpu.sharing = Sharing::Shared;
  EXPECT_FALSE(vacancy_.begin(ask, *count_, trial_));
}

}  // namespace
}  // namespace berth
