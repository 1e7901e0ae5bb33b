// Goal: jobs are booked in rank order beside each other, move forward when room is given up, and
// keep their bookings through a memory.
// Method: one node of four GPUs, and jobs that need some or all of them.
#include "policy/backfill/bookings.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

using How = Bookings::How;

class BookingsTest : public testing::Test {
 protected:
  /// A job that waits, of a rank that is the number of those before it.
  JobId add(std::int64_t gpus, Duration planned) {
    const JobId job = scene_.wait(test::whole(gpus, planned));
    bookings_.add({.group = {}, .rank = {.major = next_++}, .job = job}, scene_.view());
    return job;
  }
  void book(How how) { bookings_.book(scene_.view(), *placer_, how); }
  Duration from(JobId job) const { return bookings_.of(job).from - kStart; }

  test::Scene scene_{test::uniform(1, 4)};
  std::unique_ptr<Placer> placer_ = first_fit({});
  Bookings bookings_;
  std::int64_t next_ = 0;
  JobId running_ = scene_.run(test::whole(2, seconds(100)), {0, 1});
};

TEST_F(BookingsTest, EachIsBookedAtTheFirstTimeItFitsForAllOfItsPlan) {
  const JobId all = add(4, seconds(50));
  const JobId fits = add(2, seconds(100));
  const JobId longer = add(2, seconds(101));
  book(How::New);
  EXPECT_EQ(from(all), seconds(100));
  EXPECT_EQ(from(fits), seconds(0));
  EXPECT_EQ(from(longer), seconds(150)) << "it would be in the way of the first";
  EXPECT_EQ(bookings_.due(kStart), std::vector{fits});
  EXPECT_EQ(bookings_.next_after(kStart), kStart + seconds(100));
  const std::vector<Hold> holds = bookings_.as_holds(scene_.view(), 2);
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds.front().job, all);
  EXPECT_EQ(holds.front().placement.gpus.size(), 4U);
}

TEST_F(BookingsTest, MoveForwardInRankOrderWhenOneIsGivenUp) {
  const JobId first = add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  const JobId third = add(3, seconds(10));
  book(How::New);
  EXPECT_EQ(from(third), seconds(160));
  EXPECT_TRUE(bookings_.remove(first));
  EXPECT_FALSE(bookings_.has(first));
  EXPECT_TRUE(bookings_.is_first(second));
  book(How::New);
  EXPECT_EQ(from(second), seconds(150)) << "nothing was new";
  book(How::Forward);
  EXPECT_EQ(from(second), seconds(100));
  EXPECT_EQ(from(third), seconds(110));
}

TEST_F(BookingsTest, AreLookedForAgainOnlyWhereRoomCameFree) {
  class Counted final : public Placer {
   public:
    explicit Counted(const Placer& placer) : placer_(placer) {}
    Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
      ++asked_;
      return placer_.place(ask, job, trial);
    }
    int asked() const { return std::exchange(asked_, 0); }

   private:
    const Placer& placer_;
    mutable int asked_ = 0;
  };
  const Counted placer(*placer_);
  const auto book_all = [&](How how) { bookings_.book(scene_.view(), placer, how); };
  const JobId first = add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  const JobId third = add(4, seconds(20));
  book_all(How::Again);
  EXPECT_GT(placer.asked(), 0);
  book_all(How::Forward);
  EXPECT_EQ(placer.asked(), 0) << "nothing came free";
  EXPECT_TRUE(bookings_.remove(third));
  book_all(How::Forward);
  EXPECT_EQ(placer.asked(), 0) << "what came free is behind them";
  const JobId last = add(4, seconds(20));
  book_all(How::New);
  placer.asked();
  EXPECT_TRUE(bookings_.remove(first));
  book_all(How::Forward);
  EXPECT_EQ(placer.asked(), 2);
  EXPECT_EQ(from(second), seconds(100));
  EXPECT_EQ(from(last), seconds(110));
  scene_.end(running_, seconds(0));
  book_all(How::Forward);
  EXPECT_EQ(from(second), seconds(0));
  EXPECT_EQ(from(last), seconds(10));
}

TEST_F(BookingsTest, AllAreBookedAgainByTheirNewRanks) {
  const JobId first = add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  const JobId gone = add(1, seconds(10));
  book(How::New);
  const auto turn_of = [&](JobId job) -> std::optional<Turn> {
    if (job == gone) return std::nullopt;
    return Turn{.group = {}, .rank = {.major = job == first ? 9 : 8}, .job = job};
  };
  EXPECT_TRUE(bookings_.sort(turn_of));
  EXPECT_FALSE(bookings_.has(gone));
  EXPECT_TRUE(bookings_.is_first(second));
  book(How::Again);
  EXPECT_EQ(from(second), seconds(100));
  EXPECT_EQ(from(first), seconds(110));
}

TEST_F(BookingsTest, ALateBookingIsMadeAgainWithAllOthers) {
  const JobId first = add(4, seconds(50));
  book(How::New);
  scene_.job(running_).spec.time_limit = seconds(200);
  scene_.at(kStart + seconds(101));
  book(How::New);
  EXPECT_EQ(from(first), seconds(200));
}

/// One job in a pass.
class BookingsInParts : public BookingsTest {
 protected:
  static constexpr std::int64_t kOneJob = 1;

  Instant now() { return scene_.view().now(); }
  void book_part(How how, Bookings& bookings) {
    bookings.book(scene_.view(), *placer_, how, kOneJob);
  }
  /// Returns: how many passes the rest took.
  int go_on(Bookings& bookings) {
    int passes = 0;
    for (; bookings.goes_on_at() != kNever && passes < 100; ++passes) {
      scene_.at(bookings.goes_on_at());
      book_part(How::New, bookings);
    }
    return passes;
  }
};

TEST_F(BookingsInParts, TheRestOfThoseAddedIsBookedLater) {
  const JobId all = add(4, seconds(50));
  const JobId fits = add(2, seconds(50));
  book_part(How::New, bookings_);
  EXPECT_TRUE(bookings_.of(all).is_made());
  EXPECT_FALSE(bookings_.of(fits).is_made());
  EXPECT_EQ(bookings_.goes_on_at(), kStart + Bookings::kPause);
  book_part(How::New, bookings_);
  EXPECT_FALSE(bookings_.of(fits).is_made()) << "others have their time first";
  EXPECT_EQ(go_on(bookings_), 1);
  EXPECT_EQ(from(fits), Bookings::kPause);
}

TEST_F(BookingsInParts, AWalkGoesOnWhereItWasLeft) {
  const JobId first = add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  const JobId third = add(4, seconds(20));
  book(How::New);
  EXPECT_TRUE(bookings_.remove(first));
  book_part(How::Forward, bookings_);
  EXPECT_EQ(from(second), seconds(100));
  EXPECT_EQ(from(third), seconds(160));
  const JobId last = add(2, seconds(30));
  EXPECT_EQ(go_on(bookings_), 2) << "the third, and the one that was added meanwhile";
  EXPECT_EQ(from(third), seconds(110));
  EXPECT_LT(from(last), seconds(1));
}

TEST_F(BookingsInParts, WhatIsAskedForMeanwhileIsDoneAfterwards) {
  add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  const JobId third = add(4, seconds(20));
  book(How::New);
  EXPECT_TRUE(bookings_.remove(second));
  book_part(How::Forward, bookings_);
  book_part(How::Forward, bookings_);
  EXPECT_EQ(go_on(bookings_), 3) << "the third, and both in a walk of their own";
  EXPECT_EQ(from(third), seconds(150));
}

TEST_F(BookingsInParts, AllAreBookedAgainInsteadOfTheRestOfAWalkForward) {
  const JobId first = add(4, seconds(50));
  const JobId second = add(4, seconds(10));
  book(How::New);
  book_part(How::Forward, bookings_);
  book_part(How::Again, bookings_);
  EXPECT_TRUE(bookings_.of(first).is_made());
  scene_.at(bookings_.goes_on_at());
  book_part(How::New, bookings_);
  EXPECT_TRUE(bookings_.of(first).is_made());
  EXPECT_FALSE(bookings_.of(second).is_made());
  book_part(How::Again, bookings_);
  EXPECT_EQ(go_on(bookings_), 3) << "of two walks, of which none was broken off";
  EXPECT_EQ(from(second), seconds(150));
}

TEST_F(BookingsInParts, NothingIsBookedAtTheTimeAtWhichTheLastPartWas) {
  const JobId first = add(4, seconds(50));
  add(4, seconds(10));
  book_part(How::Again, bookings_);
  EXPECT_EQ(go_on(bookings_), 1);
  scene_.end(running_, Bookings::kPause);
  book(How::Forward);
  EXPECT_EQ(from(first), seconds(100)) << "others have their time first";
  EXPECT_EQ(bookings_.goes_on_at(), now() + Bookings::kPause);
  scene_.at(bookings_.goes_on_at());
  book(How::New);
  EXPECT_EQ(from(first), 2 * Bookings::kPause);
  EXPECT_EQ(bookings_.goes_on_at(), kNever);
  EXPECT_TRUE(bookings_.are_in_parts());
  scene_.at(now() + Bookings::kPause);
  book(How::Again);
  EXPECT_EQ(from(first), 3 * Bookings::kPause);
  EXPECT_FALSE(bookings_.are_in_parts());
}

TEST_F(BookingsInParts, AMemoryGoesOnAtTheSameJob) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(add(i % 4 + 1, seconds(10 * (i + 1))));
  book(How::New);
  for (const How how : {How::Forward, How::Again}) {
    bookings_.remove(jobs[1]);
    jobs.erase(jobs.begin() + 1);
    book_part(how, bookings_);
    Bookings copy;
    ASSERT_TRUE(copy.restore(bookings_.save(), "conservative").has_value());
    EXPECT_EQ(copy.save(), bookings_.save());
    bookings_.remove(jobs[2]);
    jobs.erase(jobs.begin() + 2);
    std::int64_t rank = 0;
    for (const JobId job : jobs) {
      copy.add({.group = {}, .rank = {.major = rank++}, .job = job}, scene_.view());
    }
    EXPECT_EQ(copy.forget_others(), how == How::Forward) << "what waits to be booked is no loss";
    const Instant then = now();
    const int passes = go_on(bookings_);
    scene_.at(then);
    EXPECT_EQ(go_on(copy), passes);
    EXPECT_GT(passes, 2);
    EXPECT_EQ(copy.save(), bookings_.save());
    scene_.at(now() + Bookings::kPause);  // from when on more is booked
  }
}

TEST_F(BookingsTest, SurviveAsBytesAsFarAsTheyCanBe) {
  const JobId first = add(4, seconds(50));
  const JobId second = add(1, seconds(10));
  book(How::New);
  const Snapshot bytes = bookings_.save();
  Bookings copy;
  ASSERT_TRUE(copy.restore(bytes, "conservative").has_value());
  EXPECT_EQ(copy.save(), bytes);
  copy.add({.group = {}, .rank = {}, .job = first}, scene_.view());
  EXPECT_EQ(copy.of(first).from, kStart + seconds(100));
  EXPECT_TRUE(copy.forget_others()) << "the second job was not added";
  scene_.job(second).spec.request.gpu.count = GpuCount(3);
  ASSERT_TRUE(copy.restore(bytes, "conservative").has_value());
  copy.add({.group = {}, .rank = {}, .job = second}, scene_.view());
  EXPECT_FALSE(copy.of(second).is_made()) << "it asks for more GPUs now";
  const auto refused = copy.restore(bytes.substr(0, bytes.size() - 1), "conservative");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("conservative"), std::string::npos);
}

}  // namespace
}  // namespace berth
