// The controller of TGS (Wu et al., NSDI 2023) against its code.
//
// Source: oracles/tgs, the controller of pkusys/TGS, commit e1c6a319cd, beside a GPU that does
// kernels in proportion to what is launched: 1,966 ticks of two runs, one steady, one with steps
// and idle times. Method: the rule of `--share tgs` on the same production load; the limit and what
// both jobs did in each tick must be equal. Tolerance: none. Skipped without the files. A run of
// our own was worked out by hand from the rules on the oracle's page.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "paper/rows.hpp"
#include "sim/share/tgs_rule.hpp"

namespace berth::test {
namespace {

using sim::TgsController;
using sim::TgsRates;

constexpr std::int64_t kTgsCapacity = 1'100'000;  ///< Blocks a tick.
constexpr std::int64_t kTgsFlood = 5'000'000;     ///< What the opportunistic job would launch.

/// The tick of a production job that launches so much, and the next limit.
TgsRates tgs_tick(TgsController& controller, std::int64_t demand, std::int64_t capacity) {
  const TgsRates done = sim::tgs_share({demand, std::min(controller.limit(), kTgsFlood)}, capacity);
  controller.observe(done);
  return done;
}

struct TgsRun {
  const char* name;
  double first;  ///< The rate that the production job reports first.
  int ticks;
  double kept;  ///< Of its demand, in all.
};

class TgsOracle : public testing::TestWithParam<TgsRun> {};

TEST_P(TgsOracle, EachTickIsTheSame) {
  const TgsRun run = GetParam();
  const auto file = std::filesystem::path("oracles/tgs") / (std::string(run.name) + ".csv.gz");
  if (const auto absent = absent_shared(file)) GTEST_SKIP() << *absent;
  TgsController controller(run.first);
  int ticks = 0;
  double done = 0;
  double demand = 0;
  for (Rows rows(file); rows.next(); ++ticks) {
    ASSERT_EQ(std::to_string(controller.limit()), rows.text("limit")) << rows.text("tick");
    const TgsRates rates = tgs_tick(controller, rows.whole("demand"), kTgsCapacity);
    ASSERT_EQ(rates, (TgsRates{rows.whole("production"), rows.whole("best_effort")}))
        << rows.text("tick");
    done += static_cast<double>(rates.production);
    demand += rows.number("demand");
  }
  EXPECT_EQ(ticks, run.ticks);
  EXPECT_NEAR(done / demand, run.kept, 0.0005);
}

INSTANTIATE_TEST_SUITE_P(Runs, TgsOracle,
                         testing::Values(TgsRun{"a", 1'000'000, 900, 0.978},
                                         TgsRun{"b", 800'000, 1'066, 0.5607}),
                         [](const auto& run) { return std::string(run.param.name); });

TEST(Tgs, GivesWhatWasWorkedOutByHand) {
  TgsController controller(800'000);
  std::vector<std::int64_t> limits;
  std::vector<std::int64_t> opportunistic;
  for (int number = 1; number <= 20; ++number) {
    limits.push_back(controller.limit());
    const std::int64_t demand = number <= 4 ? 800'000 : 790'000;
    opportunistic.push_back(tgs_tick(controller, demand, kTgsCapacity).opportunistic);
  }
  // The target is 0, 390,000, 780,000 and, from tick 4, 800,000: the profile goes on until the
  // largest mean of two neighbours differs from it, in tick 9. Tick 10 sets the first limit, which
  // grows by a half while production has 97 % of the target. 790,000 + 341,746 are more than the
  // GPU does.
  EXPECT_EQ(limits,
            (std::vector<std::int64_t>{0,       0,       0,       0,       0,       0,      0,
                                       0,       0,       0,       20'000,  30'001,  45'002, 67'504,
                                       101'257, 151'886, 227'830, 341'746, 227'830, 228'830}));
  EXPECT_EQ(opportunistic[17], 332'159) << "341,746 x 1,100,000 / 1,131,746, cut";
  EXPECT_EQ(controller.target(), 800'000);
}

/// A neighbour beyond the controller's reach takes half of the GPU from a production job that asks
/// for nearly all of it: after a second profile what is left is all that is defended.
TEST(Tgs, TheTargetFollowsAStarvedProductionJobDown) {
  TgsController controller(1'000'000);
  const auto run = [&](int ticks, std::int64_t capacity) {
    TgsRates last;
    for (int number = 0; number < ticks; ++number) {
      last = tgs_tick(controller, number % 6 == 0 ? 990'000 : 1'000'000, capacity);
    }
    return last;
  };
  run(200, kTgsCapacity);
  EXPECT_NEAR(controller.target(), 1'000'000, 5'000);
  const TgsRates starved = run(200, kTgsCapacity / 2);
  EXPECT_LE(controller.target(), 1.05 * static_cast<double>(kTgsCapacity) / 2);
  EXPECT_LT(starved.production, 600'000) << "of the million that it asks for";
  EXPECT_GT(starved.opportunistic, 0) << "which others launch beside it all the same";
  // With the whole GPU back, the job has its rate, and the target goes up again with it.
  run(200, kTgsCapacity);
  EXPECT_NEAR(controller.target(), 1'000'000, 30'000);
}

}  // namespace
}  // namespace berth::test
