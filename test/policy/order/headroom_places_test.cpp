// Goal: headroom/places ranks users by service and jobs by class and age, judges classes as its
// file says, and asks to be asked again in time.
// Method: a few jobs on one scene, the order alone; decisions and ranks compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/kit/classes.hpp"
#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;
using testing::ElementsAre;
using testing::Pair;

class HeadroomPlaces : public testing::Test {
 protected:
  static JobSpec of(DurationClass is, UserId user = UserId(1)) {
    JobSpec spec = whole(1, kForever);
    spec.duration_class = is;
    spec.user = user;
    return spec;
  }

  Rank rank(JobId id) { return order_->rank(scene_.look(id), scene_.view()).rank; }

  /// What the order decides about classes now, woken for these jobs.
  std::vector<std::pair<JobId, DurationClass>> judged(std::initializer_list<JobId> jobs = {}) {
    std::vector<Event> events;
    for (const JobId job : jobs) events.push_back({EventKind::Submitted, job});
    const Decisions decisions = order_->prepare(scene_.view(), events);
    wake_at_ = decisions.wake_at;
    std::vector<std::pair<JobId, DurationClass>> found;
    for (const Decision& decision : decisions.list) {
      const auto& classify = std::get<Classify>(decision);
      found.emplace_back(classify.job, classify.duration_class);
    }
    return found;
  }

  /// A job of this user that was said to be short runs for so long, is found out and ends.
  void outlive(UserId user, DurationClass is, Duration ran) {
    const JobId id = scene_.run(of(DurationClass::Short, user), {0});
    scene_.has_run(id, ran);
    EXPECT_THAT(judged(), ElementsAre(Pair(id, is)));
    scene_.job(id).spec.duration_class = is;  // as the engine does
    scene_.end(id, ran, Outcome::Failed);
  }
  /// A short job of this user ends after a minute.
  void finish(UserId user, Outcome outcome) {
    const JobId id = scene_.run(of(DurationClass::Short, user), {0});
    scene_.end(id, minutes(1), outcome);
  }

  Scene scene_{uniform(2, 4)};
  std::unique_ptr<Order> order_ = test::order_named("headroom/places");
  std::optional<Instant> wake_at_;
};

TEST_F(HeadroomPlaces, AClassIsWorthAnHour) {
  const JobId medium = scene_.wait(of(DurationClass::Medium));
  const JobId long_one = scene_.wait(of(DurationClass::Long));
  const JobId service = scene_.wait(of(DurationClass::Service));
  EXPECT_LT(rank(medium), rank(long_one));
  EXPECT_EQ(rank(long_one), rank(service));
  scene_.at(kStart + minutes(59));
  EXPECT_LT(rank(scene_.wait(of(DurationClass::Short))), rank(medium));
  scene_.at(kStart + minutes(61));
  EXPECT_GT(rank(scene_.wait(of(DurationClass::Short))), rank(medium));
}

TEST_F(HeadroomPlaces, TheUserWithLessServicePerWeightGoesFirst) {
  scene_.state().accounts[UserId(1)].service = ShareSeconds(3'000'000);
  scene_.state().accounts[UserId(2)].service = ShareSeconds(2'000'000);
  const auto rank_of = [&](std::uint32_t user) {
    return order_->group_rank(UserId(user), scene_.view());
  };
  EXPECT_LT(rank_of(2), rank_of(1));
  EXPECT_LT(rank_of(3), rank_of(2)) << "who has had nothing yet";
  scene_.state().accounts[UserId(1)].weight_milli = 2000;
  EXPECT_LT(rank_of(1), rank_of(2));
}

TEST_F(HeadroomPlaces, AJobIsDemotedOnceItHasOutlivedItsClassAndNotBefore) {
  const JobId job = scene_.run(of(DurationClass::Short), {0});
  scene_.at(kStart + minutes(15));
  EXPECT_THAT(judged(), ElementsAre());
  EXPECT_EQ(wake_at_, kStart + minutes(15) + Duration(1));
  scene_.at(kStart + minutes(15) + Duration(1));
  EXPECT_THAT(judged(), ElementsAre(Pair(job, DurationClass::Medium)));
  EXPECT_EQ(wake_at_, kStart + hours(4) + Duration(1));
  scene_.at(kStart + hours(5));
  EXPECT_THAT(judged(), ElementsAre(Pair(job, DurationClass::Long)));
  EXPECT_EQ(wake_at_, std::nullopt);
}

TEST_F(HeadroomPlaces, AJobThatStopsIsNotJudged) {
  const JobId job = scene_.run(of(DurationClass::Short), {0});
  scene_.job(job).state = JobState::Stopping;
  scene_.at(kStart + hours(1));
  EXPECT_THAT(judged(), ElementsAre());
}

TEST_F(HeadroomPlaces, ALiarIsNotBelievedAndRankedSoAtOnce) {
  for (int i = 0; i < 3; ++i) outlive(UserId(1), DurationClass::Medium, minutes(16));
  for (int i = 0; i < 2; ++i) outlive(UserId(2), DurationClass::Medium, minutes(16));
  const JobId liar = scene_.wait(of(DurationClass::Short));
  const JobId other = scene_.wait(of(DurationClass::Short, UserId(2)));
  EXPECT_THAT(judged({liar, other, liar}), ElementsAre(Pair(liar, DurationClass::Medium)));
  EXPECT_GT(rank(liar), rank(other));
  for (int i = 0; i < 3; ++i) outlive(UserId(1), DurationClass::Long, hours(5));
  EXPECT_THAT(judged({liar}), ElementsAre(Pair(liar, DurationClass::Long)));
}

TEST_F(HeadroomPlaces, JobsDoneWithinTheirClassSpeakForTheNext) {
  for (int i = 0; i < 3; ++i) outlive(UserId(1), DurationClass::Long, hours(5));
  const JobId job = scene_.wait(of(DurationClass::Short));
  finish(UserId(1), Outcome::Failed);
  EXPECT_THAT(judged({job}), ElementsAre(Pair(job, DurationClass::Long))) << "it was not done";
  finish(UserId(1), Outcome::Done);
  EXPECT_THAT(judged({job}), ElementsAre()) << "two against it are no habit";
}

TEST_F(HeadroomPlaces, NoRecordIsLongerThanEightGoodJobs) {
  for (int i = 0; i < 20; ++i) outlive(UserId(1), DurationClass::Medium, minutes(16));
  for (int i = 0; i < 6; ++i) finish(UserId(1), Outcome::Done);
  const JobId job = scene_.wait(of(DurationClass::Short));
  EXPECT_THAT(judged({job}), ElementsAre());
}

TEST_F(HeadroomPlaces, WhatIsRememberedSurvivesAsBytes) {
  for (int i = 0; i < 3; ++i) outlive(UserId(1), DurationClass::Medium, minutes(16));
  const Snapshot bytes = order_->save();
  order_ = test::order_named("headroom/places:ageing=2h");
  ASSERT_TRUE(order_->restore(bytes));
  EXPECT_EQ(order_->save(), bytes);
  const JobId liar = scene_.wait(of(DurationClass::Short));
  EXPECT_THAT(judged({liar}), ElementsAre(Pair(liar, DurationClass::Medium)));
  EXPECT_FALSE(order_->restore("x"));
  EXPECT_FALSE(order_->restore(bytes + "x"));
  EXPECT_TRUE(order_->restore({}));
}

TEST_F(HeadroomPlaces, ExpectsTheLimitElseTheEstimateElseTheClass) {
  const ClassBounds bounds;
  JobSpec spec = of(DurationClass::Medium);
  const JobId by_class = scene_.run(spec, {0});
  spec.estimate = minutes(30);
  const JobId by_estimate = scene_.run(spec, {1});
  spec.time_limit = hours(9);
  const JobId by_limit = scene_.run(spec, {2});
  const auto left = [&](JobId job) { return expected(scene_.look(job), bounds); };
  scene_.at(kStart + minutes(20));
  EXPECT_EQ(left(by_class), hours(4) - minutes(20));
  EXPECT_EQ(left(by_estimate), minutes(10));
  EXPECT_EQ(left(by_limit), hours(9) - minutes(20));
  scene_.at(kStart + minutes(30));
  EXPECT_EQ(left(by_estimate), hours(4) - minutes(30)) << "the estimate was wrong";
  scene_.at(kStart + hours(4) + Duration(1));
  EXPECT_EQ(left(by_class), kForever);
}

}  // namespace
}  // namespace berth
