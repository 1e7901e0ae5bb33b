// Goal: what is learned of sharing is what run times and reports say, and no more.
// Method: a few runs alone and together, with the rate worked out by hand.
#include "core/knowledge/company.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr Fingerprint kTrain(7);
constexpr Fingerprint kProbe(8);

class CompanyTest : public testing::Test {
 protected:
  JobId begin(Fingerprint what) {
    const JobId job(++last_);
    company_.identify(job, what);
    return job;
  }
  void end(JobId job, int ran) {
    company_.leave(job);
    company_.learn(job, seconds(ran));
    company_.forget(job);
  }
  /// A job of `what` that ran for so long, of it beside one of `with` at the beginning.
  void run(Fingerprint what, int ran, Fingerprint with = Fingerprint(0), int together = 0) {
    const JobId job = begin(what);
    if (together > 0) {
      const JobId other = begin(with);
      company_.pass(job, other, at(0), at(together));
      company_.forget(other);
    }
    company_.pass(job, std::nullopt, at(0), at(ran));
    end(job, ran);
  }
  /// One that is alone for `alone` s and does a unit a second, then beside one of `with` for
  /// `beside` s and does `percent` of that; it reports every 10 s.
  void reporting_run(Fingerprint what, int alone, Fingerprint with, int beside, int percent) {
    const JobId job = begin(what);
    const JobId other = begin(with);
    for (int t = 0; t <= alone; t += 10) company_.report(job, std::nullopt, t * 100, at(t));
    company_.pass(job, std::nullopt, at(0), at(alone + 5));
    for (int t = 10; t <= beside; t += 10)
      company_.report(job, other, alone * 100 + t * percent, at(alone + t));
    company_.pass(job, other, at(0), at(alone + beside));
    company_.forget(other);
    end(job, alone + beside);
  }
  /// One that is alone and keeps its GPU so busy.
  void busy_run(Fingerprint what, int ran, std::int16_t busy) {
    const JobId job = begin(what);
    company_.saw_alone(job, busy, at(0), at(ran));
    company_.pass(job, std::nullopt, at(0), at(ran));
    end(job, ran);
  }
  static Instant at(int second) { return Instant(seconds(second)); }

  Company company_;
  std::uint64_t last_ = 0;
};

TEST_F(CompanyTest, KnowsNothingAtFirst) {
  EXPECT_FALSE(company_.knows_pairs());
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 1'000'000);
}

TEST_F(CompanyTest, ARunAllTogetherTellsTheRateFromTheSecondTimeOn) {
  run(kTrain, 100);
  run(kTrain, 200, kProbe, 200);
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 1'000'000);
  run(kTrain, 200, kProbe, 200);
  EXPECT_TRUE(company_.knows_pairs());
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 500'000);
  EXPECT_EQ(company_.rate_ppm(kProbe, kTrain), 1'000'000) << "the other way is another matter";
}

TEST_F(CompanyTest, OnlyTheTimeTogetherIsSlow) {
  run(kTrain, 100);
  for (int i = 0; i < 2; ++i) run(kTrain, 160, kProbe, 80);  // 80 alone, so 20 done in the other 80
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 250'000);
}

TEST_F(CompanyTest, WithoutARunAloneNothingIsLearned) {
  for (int i = 0; i < 5; ++i) run(kTrain, 200, kProbe, 200);
  EXPECT_FALSE(company_.knows_pairs());
}

TEST_F(CompanyTest, AMomentTogetherIsARunAlone) {
  run(kTrain, 100, kProbe, 5);
  for (int i = 0; i < 2; ++i) run(kTrain, 125, kProbe, 125);
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 800'000);
}

TEST_F(CompanyTest, WhoIsNotSlowedIsAtFullSpeed) {
  run(kTrain, 100);
  for (int i = 0; i < 2; ++i) run(kTrain, 90, kProbe, 90);
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 1'000'000);
}

TEST_F(CompanyTest, ARunThatRunTimesVaryMoreThanShowsNothing) {
  for (const int ran : {100, 160, 100, 160}) run(kTrain, ran);
  for (int i = 0; i < 3; ++i) run(kTrain, 150, kProbe, 50);
  EXPECT_FALSE(company_.knows_pairs()) << "they differ by more than half of the time together";
  for (int i = 0; i < 3; ++i) run(kTrain, 400, kProbe, 400);
  EXPECT_TRUE(company_.knows_pairs());
}

TEST_F(CompanyTest, TimeBesideSeveralShowsNothingOfAnyOfThem) {
  run(kTrain, 100);
  for (int i = 0; i < 3; ++i) {
    const JobId job = begin(kTrain);
    const JobId other = begin(kProbe);
    company_.pass(job, JobId(0), at(0), at(60));
    company_.pass(job, other, at(0), at(200));
    end(job, 200);
  }
  EXPECT_FALSE(company_.knows_pairs());
}

TEST_F(CompanyTest, TimeBesideSeveralIsNotTimeAlone) {
  for (int i = 0; i < 3; ++i) {
    const JobId job = begin(kTrain);
    company_.pass(job, JobId(0), at(0), at(60));
    company_.pass(job, std::nullopt, at(0), at(100));
    end(job, 100);
  }
  EXPECT_TRUE(company_.lessons().empty());
}

TEST_F(CompanyTest, MeetingsThatAreLongerThanTheRunShowNothing) {
  run(kTrain, 100);
  for (int i = 0; i < 3; ++i) run(kTrain, 150, kProbe, 200);
  EXPECT_FALSE(company_.knows_pairs());
}

TEST_F(CompanyTest, ReportsShowASpeedWithoutARunAlone) {
  for (int i = 0; i < 2; ++i) reporting_run(kTrain, 100, kProbe, 200, 70);
  EXPECT_EQ(company_.rate(kTrain, kProbe),
            (KnownRate{.ppm = 700'000, .from = RateSource::Pair, .times = 2}));
}

TEST_F(CompanyTest, ReportsOfLessThanAMinuteShowNothing) {
  for (int i = 0; i < 3; ++i) reporting_run(kTrain, 50, kProbe, 200, 70);
  for (int i = 0; i < 3; ++i) reporting_run(kTrain, 200, kProbe, 60, 70);
  EXPECT_FALSE(company_.knows_pairs()) << "the first report beside it is of both times";
}

TEST_F(CompanyTest, WhatReportsShowIsNotLearnedOfTheRunTimeToo) {
  run(kTrain, 100);
  reporting_run(kTrain, 100, kProbe, 1000, 70);
  const Lesson& lesson = company_.lessons().at(kTrain);
  EXPECT_EQ(lesson.beside.at(kProbe).times, 1);
  EXPECT_EQ(lesson.beside.at(kProbe).ppm, 700'000);
}

TEST_F(CompanyTest, ProgressThatGoesBackCountsFromThere) {
  for (int i = 0; i < 2; ++i) {
    const JobId job = begin(kTrain);
    const JobId other = begin(kProbe);
    for (int t = 0; t <= 100; t += 10) company_.report(job, std::nullopt, t, at(t));
    company_.pass(job, std::nullopt, at(0), at(100));
    for (int t = 0; t <= 100; t += 10) company_.report(job, other, t / 2, at(100 + t));
    company_.pass(job, other, at(0), at(200));
    end(job, 200);
  }
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 500'000);
}

TEST_F(CompanyTest, AnUnknownPairIsAsFastAsPairsThatAreAsBusy) {
  constexpr Fingerprint kNew(9);
  busy_run(kTrain, 100, 100);
  busy_run(kProbe, 100, 50);
  busy_run(kNew, 100, 60);
  for (int i = 0; i < 3; ++i) run(kTrain, 200, kProbe, 200);
  EXPECT_EQ(company_.rate(kTrain, kNew), KnownRate()) << "three figures are too few";
  run(kTrain, 200, kProbe, 200);
  EXPECT_EQ(company_.rate(kTrain, kNew),
            (KnownRate{.ppm = 500'000, .from = RateSource::Duty, .times = 4}));
  EXPECT_EQ(company_.rate(kNew, kTrain), KnownRate());
  EXPECT_EQ(company_.rate(kTrain, Fingerprint(10)), KnownRate()) << "how busy it is is not known";
}

TEST_F(CompanyTest, TheMeanIsOverKnownNeighbours) {
  EXPECT_FALSE(company_.mean_ppm(kTrain));
  run(kTrain, 100);
  for (int i = 0; i < 2; ++i) run(kTrain, 200, kProbe, 200);
  for (int i = 0; i < 2; ++i) run(kTrain, 125, kTrain, 125);
  run(kTrain, 1000, Fingerprint(10), 1000);
  EXPECT_EQ(company_.mean_ppm(kTrain), 650'000) << "one run beside the third shows nothing yet";
}

TEST_F(CompanyTest, TheSpreadIsWhatFiguresDifferBy) {
  run(kTrain, 100);
  run(kTrain, 200, kProbe, 200);
  EXPECT_EQ(company_.lessons().at(kTrain).beside.at(kProbe).spread, 0);
  run(kTrain, 125, kProbe, 125);
  EXPECT_EQ(company_.lessons().at(kTrain).beside.at(kProbe).spread, 300'000);
}

TEST_F(CompanyTest, NothingIsLearnedOfJobsWithoutAFingerprint) {
  run(Fingerprint(0), 100);
  for (int i = 0; i < 3; ++i) run(Fingerprint(0), 300, kProbe, 300);
  run(kProbe, 100);
  for (int i = 0; i < 3; ++i) run(kProbe, 300, Fingerprint(0), 300);
  EXPECT_FALSE(company_.knows_pairs());
  EXPECT_TRUE(company_.record().jobs.empty());
}

TEST_F(CompanyTest, ABoundedNumberIsRememberedTheOldestGoes) {
  run(kTrain, 100);
  for (int i = 0; i < 2; ++i) run(kTrain, 200, kProbe, 200);
  for (std::size_t i = 0; i < Company::kMostLessons; ++i) run(Fingerprint(100 + i), 10);
  EXPECT_EQ(company_.record().lessons.size(), Company::kMostLessons);
  EXPECT_EQ(company_.rate_ppm(kTrain, kProbe), 1'000'000);
  EXPECT_FALSE(company_.knows_pairs());
}

TEST_F(CompanyTest, ItsRecordIsAllOfIt) {
  run(kTrain, 100);
  for (int i = 0; i < 2; ++i) run(kTrain, 200, kProbe, 200);
  company_.identify(JobId(90), kTrain);
  company_.identify(JobId(91), kProbe);
  company_.pass(JobId(90), JobId(91), at(0), at(3));
  busy_run(Fingerprint(9), 100, 50);
  Company other(company_.record());
  EXPECT_EQ(other.of(JobId(90)), kTrain);
  EXPECT_EQ(other.rate_ppm(kTrain, kProbe), 500'000);
  EXPECT_TRUE(other.knows_pairs());
  EXPECT_EQ(other.record().meetings, company_.record().meetings);
  EXPECT_EQ(other.record().lessons, company_.record().lessons);
  EXPECT_EQ(other.record().learned, company_.record().learned);
  EXPECT_EQ(other.record().stints, company_.record().stints);
  EXPECT_EQ(other.record().by_duty, company_.record().by_duty);
}

}  // namespace
}  // namespace berth
