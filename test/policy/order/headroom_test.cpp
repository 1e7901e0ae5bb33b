// Goal: headroom ranks jobs by submission, run time and their user's burden, and makes each overdue
// when its file says; both stay what they were when the job began to wait, after a restart too.
// Method: a few jobs on one scene, the order alone; ranks compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/order_named.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

class Headroom : public testing::Test {
 protected:
  static JobSpec of(Duration run, UserId user = UserId(1), std::int64_t gpus = 1) {
    JobSpec spec = whole(gpus, run);
    spec.user = user;
    return spec;
  }
  /// A job that begins to wait now, and that the order learns of.
  JobId wait(const JobSpec& spec) {
    const JobId id = scene_.wait(spec);
    tell(id);
    return id;
  }
  void tell(JobId id) {
    const Event event{EventKind::Submitted, id};
    order_->prepare(scene_.view(), std::span(&event, 1));
  }
  Ranked ranked(JobId id) { return order_->rank(scene_.look(id), scene_.view()); }
  Rank rank(JobId id) { return ranked(id).rank; }
  bool is_overdue(JobId id) { return !ranked(id).valid_until.has_value(); }
  Duration due_after(JobId id) { return ranked(id).valid_until.value_or(kNever) - kStart; }

  Scene scene_{uniform(1, 4)};
  std::unique_ptr<Order> order_ = test::order_named("headroom:stretch=10:overdue_after=2");
};

TEST_F(Headroom, AnHourOfRunTimeIsWorthTenOfSubmission) {
  order_ = test::order_named("headroom:stretch=10:overdue_after=0");
  const JobId hour = wait(of(hours(1)));
  scene_.at(kStart + hours(9));
  EXPECT_GT(rank(hour), rank(wait(of(minutes(1)))));
  scene_.at(kStart + hours(11));
  EXPECT_LT(rank(hour), rank(wait(of(minutes(1)))));
}

TEST_F(Headroom, TheRunTimeIsTheEstimateElseTheLimitElseTheClass) {
  JobSpec limited = of(kForever);
  limited.time_limit = minutes(30);
  JobSpec both = limited;
  both.estimate = minutes(10);
  JobSpec medium = of(kForever);
  medium.duration_class = DurationClass::Medium;
  JobSpec long_one = of(kForever);
  long_one.duration_class = DurationClass::Long;
  order_ = test::order_named("headroom:stretch=1:overdue_after=0");
  const JobId first = wait(both);
  const auto run = [&](JobId id) { return rank(id).major - micros(scene_.look(id).submitted()); };
  EXPECT_EQ(run(first), micros(minutes(10)));  // the only user: a burden of one
  EXPECT_EQ(run(wait(limited)), micros(minutes(30)));
  EXPECT_EQ(run(wait(medium)), micros(hours(4)));
  EXPECT_EQ(run(wait(long_one)), micros(hours(24)));
}

TEST_F(Headroom, AUserWithLessServiceGoesSooner) {
  for (const int user : {1, 2}) scene_.state().accounts[UserId(user)].as_of = kStart;
  scene_.state().accounts[UserId(1)].service =
      ShareSeconds(std::int64_t{1'000'000} * 1'000'000'000);
  const JobId had_much = wait(of(hours(1), UserId(1)));
  const JobId had_little = wait(of(hours(1), UserId(2)));
  EXPECT_LT(rank(had_little), rank(had_much));
  const auto stretch = [&](JobId id) { return rank(id).major - micros(kStart); };
  EXPECT_NEAR(static_cast<double>(stretch(had_much)) / micros(hours(1)), 10 * std::sqrt(2), 0.01);
  EXPECT_NEAR(static_cast<double>(stretch(had_little)) / micros(hours(1)), 10 * std::sqrt(0.1),
              0.01);
}

TEST_F(Headroom, ItIsDueAfterAMultipleOfAnEqualShare) {
  const JobId running = scene_.run(of(hours(2), UserId(3), 2), {0, 1});
  scene_.has_run(running, hours(1));  // one hour on half of the cluster is left
  const JobId first = wait(of(hours(1), UserId(1)));
  EXPECT_EQ(due_after(first), 2 * minutes(30 + 15));
  for (int i = 0; i < 100; ++i) wait(of(hours(1), UserId(2)));
  const JobId beside_a_flood = wait(of(hours(1), UserId(4), 4));
  // Its own hour, 15 minutes of the first, and of the flood as much as of its own.
  EXPECT_EQ(due_after(beside_a_flood), 2 * minutes(30 + 60 + 15 + 60));
  const JobId of_the_flood = wait(of(hours(1), UserId(2)));
  EXPECT_EQ(due_after(of_the_flood), 2 * minutes(30 + 101 * 15 + 15 + 60));
}

TEST_F(Headroom, OverdueJobsGoFirstTheEarliestDueBeforeOthers) {
  const JobId small = wait(of(minutes(10), UserId(1)));
  const JobId large = wait(of(hours(4), UserId(2), 4));
  scene_.at(kStart + hours(1));
  ASSERT_TRUE(is_overdue(small));
  ASSERT_FALSE(is_overdue(large));
  EXPECT_LT(rank(small), rank(large));
  scene_.at(kStart + hours(20));
  ASSERT_TRUE(is_overdue(large));
  EXPECT_LT(rank(small), rank(large));
  EXPECT_LT(rank(large), rank(wait(of(minutes(1), UserId(3)))));
}

TEST_F(Headroom, WithoutDueTimesNothingIsOverdue) {
  order_ = test::order_named("headroom:overdue_after=0");
  const JobId job = wait(of(minutes(1)));
  scene_.at(kStart + hours(24 * 365));
  EXPECT_LT(rank(wait(of(minutes(1), UserId(2)))).major, kNever.time_since_epoch().count());
  EXPECT_EQ(ranked(job).valid_until, kNever);
}

TEST_F(Headroom, WhatComesLaterMovesNeitherRankNorDueTime) {
  const JobId job = wait(of(hours(1), UserId(1)));
  const Ranked before = ranked(job);
  for (int i = 0; i < 10; ++i) wait(of(hours(1), UserId(1)));
  tell(job);
  EXPECT_EQ(ranked(job).rank, before.rank);
  EXPECT_EQ(ranked(job).valid_until, before.valid_until);
}

TEST_F(Headroom, AnotherEstimateGivesAnotherTurn) {
  const JobId job = wait(of(hours(1)));
  const Rank before = rank(job);
  scene_.job(job).spec.estimate = hours(2);
  tell(job);
  EXPECT_GT(rank(job), before);
}

TEST_F(Headroom, ARestartKeepsTheTurns) {
  const JobId job = wait(of(hours(1)));
  wait(of(hours(1), UserId(2)));
  const Ranked before = ranked(job);
  const Snapshot memory = order_->save();
  order_ = test::order_named("headroom:stretch=10:overdue_after=2");
  ASSERT_TRUE(order_->restore(memory));
  scene_.at(kStart + minutes(1));
  order_->prepare(scene_.view(), {});
  EXPECT_EQ(ranked(job).rank, before.rank);
  EXPECT_EQ(ranked(job).valid_until, before.valid_until);
  EXPECT_EQ(order_->save(), memory);
}

TEST_F(Headroom, AMemoryOfAnotherPolicyIsRefused) {
  const auto done = order_->restore("another's");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "policy memory: not that of headroom");
}

TEST_F(Headroom, AJobThatIsGoneIsForgotten) {
  const Snapshot nothing = order_->save();
  const JobId job = wait(of(hours(1)));
  EXPECT_NE(order_->save(), nothing);
  scene_.state().jobs.erase(job);
  const Event event{EventKind::Forgotten, job};
  order_->prepare(scene_.view(), std::span(&event, 1));
  EXPECT_EQ(order_->save(), nothing);
}

}  // namespace

}  // namespace berth
