// `multifactor` against Slurm's documentation: the fair-share factors that classic_fair_share works
// out for its five users (effective usage and share given there, the factor to six digits), and the
// sum of factors of priority_multifactor with the weights of its example.
//
// Method: two users, one with the usage and the shares of the row, the other with the rest; the
// fair-share factor is what is left of the priority without age and size. Tolerance 0.001, since
// the documentation rounds usage to four digits.
#include <gtest/gtest.h>

#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

constexpr UserId kUser(1);
constexpr UserId kOthers(2);
constexpr double kUnit = 1e9;

struct Row {
  double usage;
  double shares;
  double factor;
};

JobSpec job_of(UserId user, std::int64_t gpus) {
  JobSpec spec = whole(gpus, kForever);
  spec.user = user;
  return spec;
}

/// As Slurm prints it.
double priority(const Scene& scene, JobId id) {
  const auto order = test::order_named("multifactor");
  order->prepare(scene.view(), {});
  return static_cast<double>(-order->lane_rank(scene.look(id), scene.view()).major) / kUnit;
}

std::int64_t thousandths(double part) { return static_cast<std::int64_t>(part * 1000 + 0.5); }

class FairShareFactor : public testing::TestWithParam<Row> {};

TEST_P(FairShareFactor, IsTheDocumentedOne) {
  const auto [usage, shares, factor] = GetParam();
  Scene scene(uniform(1, 8));
  const auto service = [](double part) {
    return ShareSeconds(static_cast<std::int64_t>(part * 1e12));
  };
  scene.state().accounts[kUser] = {.weight_milli = thousandths(shares), .service = service(usage)};
  scene.state().accounts[kOthers] = {.weight_milli = thousandths(1 - shares),
                                     .service = service(1 - usage)};
  const double of_size = 1000.0 / 8;
  EXPECT_NEAR((priority(scene, scene.wait(job_of(kUser, 1))) - of_size) / 10'000, factor, 0.001);
}

INSTANTIATE_TEST_SUITE_P(Documented, FairShareFactor,
                         testing::Values(Row{0.3875, 0.30, 0.408479}, Row{0.275, 0.05, 0.022097},
                                         Row{0.15, 0.05, 0.125}, Row{0.25, 0.25, 0.5},
                                         Row{0.1458, 0.35, 0.749154}));

TEST(Multifactor, CountsTheSharesOfAUserWhoOnlyWaits) {
  Scene scene(uniform(1, 8));
  scene.state().accounts[kUser] = {.service = ShareSeconds(1'000'000'000)};
  const JobId alone = scene.wait(job_of(kUser, 8));
  EXPECT_NEAR(priority(scene, alone), 10'000 * 0.5 + 1000, 0.01) << "all of the usage, all shares";
  const JobId late = scene.wait(job_of(kOthers, 8));
  EXPECT_NEAR(priority(scene, alone), 10'000 * 0.25 + 1000, 0.01) << "all of it, half the shares";
  EXPECT_NEAR(priority(scene, late), 10'000 + 1000, 0.01);
}

TEST(Multifactor, AgesForAWeekAndFavoursLargeJobs) {
  Scene scene(uniform(1, 8));
  const JobId small = scene.wait(job_of(kUser, 2));
  EXPECT_NEAR(priority(scene, small), 10'000 + 250, 0.01);
  scene.at(kStart + hours(84));
  EXPECT_NEAR(priority(scene, small), 10'000 + 250 + 500, 0.01);
  scene.at(kStart + hours(24 * 30));
  EXPECT_NEAR(priority(scene, small), 10'000 + 250 + 1000, 0.01);
}

}  // namespace
}  // namespace berth
