// Goal: what is learned of sharing is what run times say, and no more.
// Method: a few runs alone and together, with the rate worked out by hand.
#include "core/knowledge/company.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr Fingerprint kTrain(7);
constexpr Fingerprint kProbe(8);

class CompanyTest : public testing::Test {
 protected:
  /// A job of `what` that ran for so long, of it together with one of `with`.
  void run(Fingerprint what, int ran, Fingerprint with = Fingerprint(0), int together = 0) {
    const JobId job(++last_);
    company_.identify(job, what);
    if (together > 0) {
      const JobId other(++last_);
      company_.identify(other, with);
      company_.met(other, job, seconds(together));
      company_.forget(other);
    }
    company_.learn(job, seconds(ran));
    company_.forget(job);
  }

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
  company_.met(JobId(90), JobId(91), seconds(3));
  Company other(company_.record());
  EXPECT_EQ(other.of(JobId(90)), kTrain);
  EXPECT_EQ(other.rate_ppm(kTrain, kProbe), 500'000);
  EXPECT_TRUE(other.knows_pairs());
  EXPECT_EQ(other.record().meetings, company_.record().meetings);
  EXPECT_EQ(other.record().lessons, company_.record().lessons);
  EXPECT_EQ(other.record().learned, company_.record().learned);
}

}  // namespace
}  // namespace berth
