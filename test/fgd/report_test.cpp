// Goal: the study compares what it says it compares.
// Method: small curves, means and deviations by hand.
#include "fgd/report.hpp"

#include <gtest/gtest.h>

namespace berth::fgd {
namespace {

Curve level(double allocated) {
  Curve curve;
  curve.allocated.fill(allocated);
  curve.fragmented.fill(100 - allocated);
  return curve;
}

Curves two_seeds(double first, double second) {
  Curves curves;
  curves[{.mix = "default", .way = "06-FGD", .seed = 42}] = level(first);
  curves[{.mix = "default", .way = "06-FGD", .seed = 43}] = level(second);
  return curves;
}

TEST(FgdReport, AMeanMayBeThreeStandardErrorsAway) {
  const RunName name{.mix = "default", .way = "06-FGD", .seed = 0};
  // Theirs: mean 95, deviation sqrt(2), standard error 1.
  const Cell cell = cell_of(two_seeds(97, 98.8), two_seeds(94, 96), name, Measure::Allocated, 100);
  EXPECT_NEAR(cell.ours, 97.9, 1e-9);
  EXPECT_NEAR(cell.theirs.value(), 95, 1e-9);
  EXPECT_NEAR(cell.tolerance, 3, 1e-6);
  EXPECT_TRUE(cell.is_inside());
  const Cell far = cell_of(two_seeds(98, 98.2), two_seeds(94, 96), name, Measure::Allocated, 100);
  EXPECT_FALSE(far.is_inside());
}

TEST(FgdReport, OrThreeTenthsWhereTheSeedsAgree) {
  const RunName name{.mix = "default", .way = "06-FGD", .seed = 0};
  EXPECT_TRUE(
      cell_of(two_seeds(95.3, 95.3), two_seeds(95, 95), name, Measure::Fragmented, 90).is_inside());
  EXPECT_FALSE(
      cell_of(two_seeds(95.4, 95.4), two_seeds(95, 95), name, Measure::Fragmented, 90).is_inside());
}

TEST(FgdReport, AMixOfWhichNothingWasPublishedIsShownAlone) {
  Findings findings;
  findings.ours[{.mix = "mine", .way = "06-FGD", .seed = 42}] = level(95);
  const std::string page = report(findings, two_seeds(94, 96));
  EXPECT_NE(page.find("### mine (nothing published)"), std::string::npos);
  EXPECT_NE(page.find("| fgd | 95.00 | 95.00 |"), std::string::npos);
  EXPECT_NE(page.find("0 of 0 means"), std::string::npos);
}

TEST(FgdReport, ARunMatchesFigureByFigure) {
  Curve ours = level(95);
  EXPECT_EQ(match_of(ours, level(95)).equal, 260);
  ours.allocated[130] += 0.01;
  EXPECT_EQ(match_of(ours, level(95)).equal, 259);
  EXPECT_EQ(match_of(ours, level(95)).all, 260);
}

}  // namespace
}  // namespace berth::fgd
