// Goal: figures between users are of users, each counted once, and say who got less than its part.
// Method: runs of a few jobs, worked out by hand.
#include "report/user_figures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "policy/registry.hpp"
#include "report/whole_job.hpp"

namespace berth::sim {
namespace {

using namespace literals;

std::optional<UserFigures> figures_of(const trace::Trace& trace, const Cluster& cluster,
                                      const char* policy = "fifo") {
  const auto result = simulate(trace, cluster, *make_policy(policy, "first-fit"));
  UserSums sums(cluster);
  for (const JobResult& one : result->jobs) sums.add(trace.jobs[one.job], one, true);
  return sums.figures();
}

Cluster machine(std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = gpus, .vram = 16_GiB});
  return cluster;
}

TEST(UserFiguresTest, VarianceIsOfAllThereAreAndVariationHasNoUnit) {
  const Variation one = variation_of(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(one.variance, 4);
  EXPECT_DOUBLE_EQ(one.coefficient, 2.0 / 5);
  EXPECT_DOUBLE_EQ(variation_of(std::vector<double>{3, 3}).variance, 0);
  EXPECT_DOUBLE_EQ(variation_of(std::vector<double>{0, 0}).coefficient, 0);
}

TEST(UserFiguresTest, JainsIndexIsThePartOfUsersThatHaveAll) {
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{0, 7, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{0, 0}), 1);
}

TEST(UserFiguresTest, UsersCountOnceHoweverManyJobsTheyHave) {
  trace::Trace trace;  // on one GPU: JCTs 100 and 200 of user 1, 300 of user 2
  trace.jobs = {whole_job(0, 100, 1, 1), whole_job(0, 100, 1, 1), whole_job(0, 100, 1, 2)};
  const auto figures = figures_of(trace, machine(1));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->users, 2U);
  EXPECT_DOUBLE_EQ(figures->jct.variance, 75 * 75) << "means 150 and 300";
  EXPECT_DOUBLE_EQ(figures->jct.coefficient, 75 / 225.0);
  EXPECT_DOUBLE_EQ(figures->slowdown.variance, 0.75 * 0.75);
  EXPECT_DOUBLE_EQ(figures->fairness, 4.5 * 4.5 / (2 * (1.5 * 1.5 + 9)));
  EXPECT_DOUBLE_EQ(to_json(*figures).at("jct").at("variance_seconds2"), 75 * 75);
  trace.jobs.back().spec.user = UserId(0);
  EXPECT_FALSE(figures_of(trace, machine(1))) << "one is named";
}

TEST(UserFiguresTest, ServiceIsComparedWithAnEqualSplitOfTheTimeItWasAskedFor) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1, 1), whole_job(0, 100, 1, 2)};
  auto figures = figures_of(trace, machine(1));
  // An equal split gives each half a GPU for 100 s, then the second a whole one for 100 s.
  ASSERT_TRUE(figures && figures->service);
  const double first = 100 / 50.0;
  const double second = 100 / 150.0;
  EXPECT_DOUBLE_EQ(*figures->service,
                   std::pow(first + second, 2) / (2 * (first * first + second * second)));
  EXPECT_DOUBLE_EQ(*figures->least_service, second);
  figures = figures_of(trace, machine(2));
  EXPECT_DOUBLE_EQ(*figures->service, 1) << "all demands fit";
  EXPECT_DOUBLE_EQ(*figures->least_service, 1);
}

TEST(UserFiguresTest, JobsThatFailTakeServiceUntilTheyLeaveAndRejectedOnesNone) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 1000, 1, 1), whole_job(0, 100, 1, 2), whole_job(0, 100, 9, 2)};
  trace.jobs[0].spec.time_limit = seconds(100);
  trace.jobs.push_back(whole_job(0, 100, 1, 1));  // one ended job, so that user 1 counts
  const auto figures = figures_of(trace, machine(1), "fifo-skip");
  ASSERT_TRUE(figures && figures->service);
  // They leave at 100 s, 200 s and 300 s: half a GPU each until 200 s, then one for the first user.
  EXPECT_DOUBLE_EQ(*figures->least_service, 100 / 100.0);
  const double first = 200 / 200.0;
  EXPECT_DOUBLE_EQ(*figures->service, std::pow(first + 1, 2) / (2 * (first * first + 1)));
}

TEST(UserFiguresTest, ASharedGpuIsSplitByWhatTenantsTakeOfIt) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1, 1), whole_job(0, 100, 1, 2)};
  for (trace::TraceJob& one : trace.jobs) {
    one.spec.request.gpu.sharing = Sharing::Shared;
    one.spec.request.gpu.vram = 4_GiB;
  }
  EXPECT_DOUBLE_EQ(*figures_of(trace, machine(1))->service, 1) << "both fit at once";
  for (trace::TraceJob& one : trace.jobs) one.spec.request.gpu.vram = 12_GiB;
  const auto figures = figures_of(trace, machine(1));
  // Three quarters of a GPU each: an equal split is half a GPU, until the second is alone.
  EXPECT_DOUBLE_EQ(*figures->least_service, 75 / (50 + 75.0));
}

}  // namespace
}  // namespace berth::sim
