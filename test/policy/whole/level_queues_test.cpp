// Goal: jobs move down as they run and back as they wait, each in order; a memory of other queues
// is refused.
// Method: a few jobs moved by hand.
#include "policy/whole/level_queues.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

class LevelQueuesTest : public testing::Test {
 protected:
  using Jobs = std::vector<JobId>;

  void update() { queues_.update(scene_.view(), {}, *placer_); }
  Jobs order() {
    const auto order = queues_.in_order();
    return {order.begin(), order.end()};
  }
  void suspend(JobId id) {
    scene_.job(id).state = JobState::Suspended;
    std::erase(scene_.state().running, id);
  }

  test::Scene scene_{test::uniform(1, 4)};
  std::unique_ptr<Placer> placer_ =
      (*std::ranges::find(placers(), "count", &PlacerEntry::name)).make();
  JobId first_ = scene_.run(test::whole(1, kForever), {0});
  JobId second_ = scene_.wait(test::whole(1, kForever));
  JobId third_ = scene_.run(test::whole(1, kForever), {1});
  LevelQueues queues_{2};
};

TEST_F(LevelQueuesTest, RunningJobsMoveDownInOrderOfArrival) {
  update();
  EXPECT_EQ(order(), (Jobs{first_, second_, third_}));
  queues_.demote(scene_.view(), [](const JobView&, std::size_t) { return true; });
  EXPECT_EQ(order(), (Jobs{second_, first_, third_}));
  queues_.demote(scene_.view(), [](const JobView&, std::size_t) { return true; });
  EXPECT_EQ(order(), (Jobs{second_, first_, third_})) << "the last queue is the last";
  std::vector<std::pair<JobId, std::size_t>> visited;
  queues_.move_back_unless({true, false, true}, [&](JobId id, std::size_t level, bool) {
    visited.emplace_back(id, level);
  });
  EXPECT_EQ(order(), (Jobs{second_, third_, first_}));
  EXPECT_EQ(visited, (decltype(visited){{second_, 0}, {first_, 1}, {third_, 1}}));
}

TEST_F(LevelQueuesTest, AWaitingJobThatRanReturnsAndItsTimesCountAnew) {
  update();
  queues_.demote(scene_.view(), [](const JobView&, std::size_t) { return true; });
  scene_.has_run(first_, seconds(10));
  suspend(first_);
  scene_.job(first_).since = kStart;
  scene_.at(kStart + seconds(30));
  EXPECT_EQ(queues_.executed(scene_.look(first_)), seconds(10));
  queues_.promote(scene_.view(), [](const JobView&) { return true; });
  EXPECT_EQ(queues_.level_of(scene_.look(first_)), 1U) << "still patient";
  queues_.promote(scene_.view(), [](const JobView&) { return false; });
  EXPECT_EQ(queues_.level_of(scene_.look(first_)), 0U);
  EXPECT_EQ(queues_.level_of(scene_.look(third_)), 1U) << "it runs";
  EXPECT_EQ(queues_.executed(scene_.look(first_)), Duration::zero());
  EXPECT_EQ(queues_.waited(scene_.look(first_)), Duration::zero());
}

TEST_F(LevelQueuesTest, SurviveAsBytesAndRefuseThoseOfOtherQueues) {
  update();
  queues_.demote(scene_.view(), [](const JobView&, std::size_t) { return true; });
  const Snapshot bytes = queues_.save();
  LevelQueues copy(2);
  ASSERT_TRUE(copy.restore(bytes, "mlfq").has_value());
  EXPECT_EQ(copy.save(), bytes);
  LevelQueues three(3);
  const auto refused = three.restore(bytes, "mlfq");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("mlfq"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(copy.restore(bytes.substr(0, bytes.size() - 1), "mlfq").has_value());
}

}  // namespace
}  // namespace berth
