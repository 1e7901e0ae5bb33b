// E-LAS against what is published of it.
//
// Source: Sultana, Chen, Xu and Yuan, "E-LAS: Design and Analysis of Completion-Time Agnostic
// Scheduling for Distributed Deep Learning Cluster", ICPP 2020, abstract: it favours little service
// attained and much progress, and its mean completion time is about 1.5 times better than that of
// Tiresias and 10 times better than that of YARN-CS. We do not have the index itself.
// Method: the direction of each signal, on a scene; and the direction of the claims on Y480, 480
// jobs derived from the duration samples of Tiresias' authors (skipped if absent).
// doc/results/e-las.md has all figures. Tolerance: the factors we see are 1.27 and 4.1; 1.2 and 3
// are required, so this test does not show that the published factors are met.
#include <gtest/gtest.h>

#include "paper/tiresias_trace.hpp"
#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace test {
namespace {

constexpr std::int64_t kEpoch = 1'000'000;  // as jobs' reports are told

class ELasOrder : public testing::TestWithParam<const char*> {
 protected:
  /// The queue of a job with this service on one GPU, and these epochs of ten done.
  std::int64_t queue(Duration ran, std::int64_t done) {
    const JobId id = scene_.wait(whole(1, kForever));
    scene_.has_run(id, ran);
    scene_.job(id).progress = {.done = done * kEpoch, .total = 10 * kEpoch};
    return test::order_named(GetParam())->rank(scene_.look(id), scene_.view()).rank.major;
  }
  Scene scene_{uniform(1, 4)};
};

TEST_P(ELasOrder, FavoursLittleService) {
  EXPECT_LT(queue(hours(1), 2), queue(hours(10), 2));
  EXPECT_LT(queue(hours(10), 2), queue(hours(100), 2));
}

TEST_P(ELasOrder, FavoursMuchProgress) {
  EXPECT_LT(queue(hours(10), 9), queue(hours(10), 1));
  EXPECT_LE(queue(hours(10), 5), queue(hours(10), 4));
}

TEST_P(ELasOrder, RunsANewJobForAQuantumFirst) {
  EXPECT_EQ(queue(minutes(5) - Duration(1), 0), 0);
  EXPECT_GT(queue(hours(1), 0), 0);
}

TEST_P(ELasOrder, CountsHalfAnEpochBeforeTheFirst) {
  // An hour for half an epoch of ten: 19 hours to go, 68,400 s; or sqrt: 3,600 / sqrt(1/2) = 5,091.
  EXPECT_EQ(queue(hours(1), 0), std::string_view("e-las") == GetParam() ? 5 : 1);
}

TEST_P(ELasOrder, WithoutProgressOrEstimateGoesByService) {
  const JobId id = scene_.wait(whole(1, kForever));
  const auto queue_after = [&](Duration ran) {
    scene_.has_run(id, ran);
    return test::order_named(GetParam())->rank(scene_.look(id), scene_.view()).rank.major;
  };
  EXPECT_EQ(queue_after(seconds(3249)), 0);
  EXPECT_EQ(queue_after(seconds(3250)), 1);
  EXPECT_EQ(queue_after(seconds(6500)), 2);
}

TEST_P(ELasOrder, WhatAJobReportsGoesBeforeItsEstimate) {
  const JobId id = scene_.wait(whole(1, hours(1)));
  scene_.has_run(id, minutes(50));
  const auto queue_now = [&] {
    return test::order_named(GetParam())->rank(scene_.look(id), scene_.view()).rank.major;
  };
  const std::int64_t by_estimate = queue_now();
  EXPECT_EQ(by_estimate, 0);  // nearly done, as it was said
  scene_.job(id).progress = {.done = 4 * kEpoch, .total = 1000 * kEpoch};
  EXPECT_EQ(queue_now(), std::string_view("e-las") == GetParam() ? 8 : 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, ELasOrder, testing::Values("e-las", "e-las/rate"),
                         [](const auto& policy) {
                           return std::string(policy.param) == "e-las" ? "ToGo" : "Rate";
                         });

TEST(ELas, EndsJobsSoonerThanTiresiasAndThanFifoOnY480) {
  std::string absent;
  const auto y480 = tiresias_trace(absent);
  if (!y480) GTEST_SKIP() << absent;
  const double ours = y480->mean_completion("e-las");
  EXPECT_GT(y480->mean_completion("tiresias/dlas-gpu", "count"), 1.2 * ours);
  EXPECT_GT(y480->mean_completion("fifo", "yarn"), 3 * ours);
}

}  // namespace
}  // namespace test
}  // namespace berth
