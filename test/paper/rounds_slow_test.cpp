// As rounds_test.cpp, at more rates of arrival and for the policies that draw the order of types.
// Tolerance: 2 %.
#include "paper/gavel_oracle.hpp"

namespace berth::test {
namespace {

struct SweepRow {
  double jobs_per_hour;
  const char* policy;
  double hours;
};

class GavelSweep : public testing::TestWithParam<SweepRow> {};

TEST_P(GavelSweep, MeetsTheMeanThatIsPrinted) {
  if (const auto absent = absent_shared("oracles/gavel-sweep")) GTEST_SKIP() << *absent;
  const auto& [rate, policy, hours] = GetParam();
  GavelRun run(sweep_text(rate, 7'000), gavel_cluster({36, 36, 36}, 1));
  const std::string name(policy);
  if (name.ends_with("-packed") || name == "gavel/gandiva") run.let_share();
  EXPECT_NEAR(sweep_mean(run, policy), hours, 0.02 * hours);
}

INSTANTIATE_TEST_SUITE_P(Rows, GavelSweep,
                         testing::Values(SweepRow{0.4, "gavel/fifo-perf", 15.31},
                                         SweepRow{0.4, "gavel/max-min", 23.26},
                                         SweepRow{0.4, "gavel/max-min-perf", 17.58},
                                         SweepRow{0.4, "gavel/finish-time-fairness", 23.26},
                                         SweepRow{0.4, "gavel/finish-time-fairness-perf", 17.58},
                                         SweepRow{2.0, "gavel/max-min", 23.47},
                                         SweepRow{2.0, "gavel/finish-time-fairness", 23.47},
                                         SweepRow{4.4, "gavel/fifo-perf", 18.19},
                                         SweepRow{4.4, "gavel/max-min", 23.81},
                                         SweepRow{4.4, "gavel/max-min-perf", 17.48},
                                         SweepRow{4.4, "gavel/finish-time-fairness", 23.75},
                                         SweepRow{4.4, "gavel/finish-time-fairness-perf", 18.62}));

}  // namespace
}  // namespace berth::test
