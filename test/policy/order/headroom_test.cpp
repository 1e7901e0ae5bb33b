// Goal: headroom ranks jobs by run time and by what their user has had by now, and makes each
// overdue when its file says, after a restart too.
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
  /// As of now.
  Rank rank(JobId id) {
    order_->prepare(scene_.view(), {});
    return order_->lane_rank(scene_.look(id), scene_.view());
  }
  bool is_overdue(JobId id) { return rank(id).major == micros(Instant::min()); }
  /// Leaves the scene long after.
  Duration due_after(JobId id) {
    const Snapshot now = order_->save();
    scene_.at(kStart + hours(24 * 365));
    EXPECT_TRUE(is_overdue(id));
    const Duration after = Duration(rank(id).minor) - Duration(micros(kStart));
    scene_.at(kStart);
    EXPECT_TRUE(order_->restore(now)) << "no order sees time go back";
    return after;
  }
  void has_had(UserId user, std::int64_t share_seconds) {
    scene_.state().accounts[user].as_of = kStart;
    scene_.state().accounts[user].service = ShareSeconds(share_seconds * 1'000'000'000);
  }

  /// Of a rank, for twice the run time.
  static constexpr std::int64_t kOctave = 16'000;

  Scene scene_{uniform(1, 4)};
  std::unique_ptr<Order> order_ = test::order_named("headroom:overdue_after=2");
};

TEST_F(Headroom, ShortJobsGoFirstHoweverLongOthersHaveWaited) {
  const JobId hour = wait(of(hours(1)));
  const JobId two = wait(of(hours(2)));
  EXPECT_EQ(rank(two).major - rank(hour).major, kOctave);
  order_ = test::order_named("headroom:overdue_after=0");
  scene_.at(kStart + hours(1000));
  EXPECT_GT(rank(hour), rank(wait(of(minutes(50)))));
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
  const auto same = [&](JobId one, Duration run) {
    return rank(one).major == rank(wait(of(run))).major;
  };
  EXPECT_TRUE(same(wait(both), minutes(10)));
  EXPECT_TRUE(same(wait(limited), minutes(30)));
  EXPECT_TRUE(same(wait(medium), hours(4)));
  EXPECT_TRUE(same(wait(long_one), hours(24)));
}

TEST_F(Headroom, AUserWithHalfTheServiceGoesAsIfTheJobsRanHalfAsLong) {
  has_had(UserId(1), 4'096);
  has_had(UserId(2), 2'048);
  const JobId had_much = wait(of(hours(1), UserId(1)));
  const JobId had_little = wait(of(hours(1), UserId(2)));
  EXPECT_EQ(rank(had_much).major - rank(had_little).major, kOctave);
  scene_.state().accounts[UserId(2)].weight_milli = 2000;
  scene_.at(kStart + minutes(10));
  EXPECT_EQ(rank(had_much).major - rank(had_little).major, 2 * kOctave);
  order_ = test::order_named("headroom:fairness=0");
  EXPECT_EQ(rank(had_much), rank(had_little));
}

TEST_F(Headroom, WhoHasHadNothingGoesAsWithAThousandthOfTheMean) {
  has_had(UserId(1), 8'192'000);
  const JobId had_much = wait(of(hours(1), UserId(1)));
  const JobId new_user = wait(of(hours(1), UserId(2)));
  EXPECT_NEAR(static_cast<double>(rank(had_much).major - rank(new_user).major), 10 * kOctave, 1500);
}

TEST_F(Headroom, ServiceCountsInStepsOfTenMinutes) {
  has_had(UserId(1), 1);
  scene_.state().accounts[UserId(1)].share_ppb = 1'000'000'000;
  has_had(UserId(2), 1);
  const JobId job = wait(of(hours(1), UserId(1)));
  const Rank before = rank(job);
  scene_.at(kStart + minutes(10) - Duration(1));
  EXPECT_EQ(rank(job), before);
  const Decisions decisions = order_->prepare(scene_.view(), {});
  EXPECT_EQ(decisions.wake_at, kStart + minutes(10));
  scene_.at(kStart + minutes(10));
  EXPECT_GT(rank(job), before);
}

/// Their own order, which a lane keeps, and that among all are one.
TEST_F(Headroom, JobsOfAUserAreOrderedAsAmongAll) {
  std::vector<JobId> jobs;
  for (const Duration run : {seconds(3601), hours(2), seconds(3600), Duration(2), Duration(1)}) {
    jobs.push_back(wait(of(run)));
  }
  const auto own = [&](JobId id) { return order_->rank(scene_.look(id), scene_.view()); };
  EXPECT_EQ(own(jobs[0]).rank.major, own(jobs[2]).rank.major) << "within a sixteenth of an octave";
  EXPECT_EQ(own(jobs[1]).rank.major - own(jobs[0]).rank.major, 16);
  EXPECT_LT(own(jobs[4]).rank, own(jobs[3]).rank);
  for (const JobId a : jobs) {
    for (const JobId b : jobs) EXPECT_EQ(own(a).rank <=> own(b).rank, rank(a) <=> rank(b));
  }
}

TEST_F(Headroom, AJobMovesInItsLaneAtTheLookAtWhichItIsOverdue) {
  const JobId job = wait(of(hours(1)));
  const Ranked before = order_->rank(scene_.look(job), scene_.view());
  ASSERT_TRUE(before.valid_until);
  EXPECT_EQ(micros(*before.valid_until) % micros(minutes(10)), 0);
  EXPECT_GE(*before.valid_until, kStart + due_after(job));
  EXPECT_LT(*before.valid_until, kStart + due_after(job) + minutes(10));
  scene_.at(*before.valid_until - Duration(1));
  order_->prepare(scene_.view(), {});
  EXPECT_EQ(order_->rank(scene_.look(job), scene_.view()).rank, before.rank);
  scene_.at(*before.valid_until);
  order_->prepare(scene_.view(), {});
  const Ranked after = order_->rank(scene_.look(job), scene_.view());
  EXPECT_LT(after.rank, before.rank);
  EXPECT_EQ(after.rank, rank(job));
  EXPECT_FALSE(after.valid_until);
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
  EXPECT_FALSE(is_overdue(job));
}

TEST_F(Headroom, WhatComesLaterMovesNoDueTime) {
  const JobId job = wait(of(hours(1), UserId(1)));
  const Duration before = due_after(job);
  for (int i = 0; i < 10; ++i) wait(of(hours(1), UserId(1)));
  tell(job);
  EXPECT_EQ(due_after(job), before);
}

TEST_F(Headroom, AnotherEstimateGivesAnotherTurn) {
  const JobId job = wait(of(hours(1)));
  const Rank before = rank(job);
  const Duration due = due_after(job);
  scene_.job(job).spec.estimate = hours(2);
  tell(job);
  EXPECT_GT(rank(job), before);
  EXPECT_GT(due_after(job), due);
  scene_.job(job).spec.estimate = hours(4);
  tell(job);
  const Duration latest = due_after(job);
  scene_.job(job).spec.estimate = hours(1);
  tell(job);
  EXPECT_LE(due_after(job), latest);  // a shorter one makes it due no later
}

TEST_F(Headroom, ARestartKeepsTheTurns) {
  const JobId job = wait(of(hours(1)));
  wait(of(hours(1), UserId(2)));
  const Rank before = rank(job);
  const Duration due = due_after(job);
  const Snapshot memory = order_->save();
  order_ = test::order_named("headroom:overdue_after=2");
  ASSERT_TRUE(order_->restore(memory));
  scene_.at(kStart + minutes(1));
  EXPECT_EQ(rank(job), before);
  EXPECT_EQ(due_after(job), due);
  EXPECT_EQ(order_->save(), memory);
}

TEST_F(Headroom, AMemoryOfAnotherPolicyIsRefused) {
  const auto done = order_->restore("another's");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "policy memory: not that of headroom");
}

TEST_F(Headroom, AJobThatIsGoneIsForgotten) {
  order_->prepare(scene_.view(), {});
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
