// Goal: targets and losses follow from the figures, and say what was compared with what.
// Method: results of two scenarios and three ways, made by hand.
#include "lab/study/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lab/study/document.hpp"
#include "lab/study/page.hpp"

namespace berth::lab {
namespace {

using Figures = std::map<std::string, double>;
using testing::HasSubstr;

/// One run for each seed.
WayResults way(const std::string& name, const std::vector<Figures>& runs) {
  WayResults results{.way = name, .runs = {}};
  for (const Figures& figures : runs) {
    results.runs.push_back({.seed = results.runs.size() + 1, .figures = figures});
  }
  return results;
}

ScenarioResults scenario(const std::string& name, std::vector<WayResults> ways) {
  return {.name = name, .words = "", .group = "g", .ways = std::move(ways)};
}

StudyPlan plan_with(Target target) {
  target.name = "t";
  target.way = "headroom";
  return {.size = "quick", .ways = {}, .scenarios = {}, .targets = {target}, .sweeps = {}};
}

TEST(Targets, AreRatiosOfMeansOverTheBestOfTheOthersAndTheWorstFigureCounts) {
  const StudyResults results{
      .size = "quick",
      .scenarios = {scenario("s", {way("headroom", {{{"wait_mean", 100}, {"wait_p95", 300}},
                                                    {{"wait_mean", 300}, {"wait_p95", 300}}}),
                                   way("a", {{{"wait_mean", 400}, {"wait_p95", 200}},
                                             {{"wait_mean", 400}, {"wait_p95", 200}}}),
                                   way("b", {{{"wait_mean", 250}, {"wait_p95", 900}},
                                             {{"wait_mean", 250}, {"wait_p95", 900}}})})}};
  Target target{.figures = {"wait_mean", "wait_p95"}, .over = {"a", "b"}, .at_most = 1.4};
  target.groups = {"g"};
  const auto judged = judge(plan_with(target), results);
  ASSERT_EQ(judged.at(0).verdicts.size(), 1U);
  EXPECT_EQ(judged[0].verdicts[0].figure, "wait_p95");
  EXPECT_DOUBLE_EQ(judged[0].verdicts[0].value, 1.5) << "300 over the 200 of a";
  EXPECT_FALSE(judged[0].is_met());
}

TEST(Targets, AreMetInAsManyScenariosAsTheyNeedAndNeverWithoutAny) {
  StudyResults results{.size = "quick", .scenarios = {}};
  const std::vector<std::pair<std::string, double>> values = {{"x", 0}, {"y", 3}, {"z", 1}};
  for (const auto& [name, value] : values) {
    results.scenarios.push_back(scenario(name, {way("headroom", {{{"oom_admission", value}}})}));
  }
  Target target{.figures = {"oom_admission"}, .at_most = 1};
  target.groups = {"g"};
  target.need = 2;
  const auto judged = judge(plan_with(target), results);
  EXPECT_EQ(judged.at(0).met, 2U);
  EXPECT_TRUE(judged[0].is_met());
  EXPECT_EQ(judged[0].worst().scenario, "y");
  target.need = 0;
  EXPECT_FALSE(judge(plan_with(target), results).at(0).is_met()) << "in all of them";
  target.groups = {"another"};
  EXPECT_FALSE(judge(plan_with(target), results).at(0).is_met());
}

TEST(Targets, ARatioOverNothingIsInfiniteUnlessBothAreNothing) {
  const auto value = [](double mine, double other) {
    const StudyResults results{
        .size = "quick",
        .scenarios = {scenario(
            "s", {way("headroom", {{{"wait_mean", mine}}}), way("a", {{{"wait_mean", other}}})})}};
    Target target{.figures = {"wait_mean"}, .over = {"a"}, .at_most = 1};
    target.groups = {"g"};
    return judge(plan_with(target), results).at(0).verdicts.at(0).value;
  };
  EXPECT_TRUE(std::isinf(value(5, 0)));
  EXPECT_DOUBLE_EQ(value(0, 0), 1);
}

Balance balance_of(const StudyResults& results, std::string_view figure) {
  for (Balance& one : balances(results, "headroom", {"a", "b"})) {
    if (one.figure == figure) return one;
  }
  return {};
}

TEST(Balances, ALossIsMoreThanATenthAndMoreThanTheFloor) {
  const auto losses = [](double mine, double best) {
    return balance_of(
               {.size = "quick",
                .scenarios = {scenario("s", {way("headroom", {{{"ended", 5}, {"wait_mean", mine}}}),
                                             way("a", {{{"ended", 5}, {"wait_mean", best}}})})}},
               "wait_mean")
        .losses.size();
  };
  EXPECT_EQ(losses(1090, 1000), 0U) << "nine percent";
  EXPECT_EQ(losses(1111, 1000), 1U);
  EXPECT_EQ(losses(50, 0), 0U) << "less than a minute";
  EXPECT_EQ(losses(900, 1000), 0U);
}

TEST(Balances, AWayThatEndsFewerJobsIsARivalOnlyInWhatItLost) {
  const StudyResults results{
      .size = "quick",
      .scenarios = {
          scenario("s", {way("headroom", {{{"ended", 5}, {"wait_mean", 900}, {"oom_own", 4}}}),
                         way("a", {{{"ended", 4}, {"wait_mean", 0}, {"oom_own", 1}}}),
                         way("b", {{{"ended", 5}, {"wait_mean", 600}, {"oom_own", 4}}})})}};
  const Balance waits = balance_of(results, "wait_mean");
  ASSERT_EQ(waits.losses.size(), 1U);
  EXPECT_EQ(waits.losses[0].best_way, "b");
  const Balance ooms = balance_of(results, "oom_own");
  ASSERT_EQ(ooms.losses.size(), 1U);
  EXPECT_EQ(ooms.losses[0].best_way, "a");
}

TEST(Balances, ALossIsClearIfTheDifferenceBySeedIs) {
  const auto is_clear = [](std::vector<double> mine, std::vector<double> best) {
    std::vector<Figures> ones;
    std::vector<Figures> others;
    for (const double value : mine) ones.push_back({{"ended", 5}, {"wait_mean", value}});
    for (const double value : best) others.push_back({{"ended", 5}, {"wait_mean", value}});
    return balance_of({.size = "quick",
                       .scenarios = {scenario("s", {way("headroom", ones), way("a", others)})}},
                      "wait_mean")
        .losses.at(0)
        .is_clear;
  };
  EXPECT_TRUE(is_clear({1500, 2500, 3500}, {1000, 2000, 3000})) << "always 500";
  EXPECT_FALSE(is_clear({1500, 2500, 8000}, {1000, 3000, 3000}));
}

TEST(Document, SaysWhatWasMissedAndWhereItDoesNotHelp) {
  StudyPlan plan = plan_with({.figures = {"wait_mean"}, .over = {"fifo"}, .at_most = 1});
  plan.targets[0].groups = {"g"};
  plan.ways = {{.name = "headroom", .words = "w", .sets = {}, .arguments = "--policy headroom"},
               {.name = "fifo", .words = "f", .sets = {"rivals"}, .arguments = "--policy fifo"}};
  const std::string text =
      markdown({.plan = plan,
                .results = {.size = "quick",
                            .scenarios = {scenario(
                                "s", {way("headroom", {{{"ended", 5}, {"wait_mean", 900}}}),
                                      way("fifo", {{{"ended", 5}, {"wait_mean", 600}}})})}},
                .reading = "## Reading\n",
                .live = "",
                .made = "a day"});
  EXPECT_THAT(text, HasSubstr("| t | <= 1.00 x fifo | 0 of 1 | 1.50 | 1.50 (s) | missed |"));
  EXPECT_THAT(text, HasSubstr("| mean wait, s | 1 | 0 | 0 | 1 | s 1.50 fifo |"));
  EXPECT_THAT(text, HasSubstr("| headroom | 5 | 900 |"));
}

TEST(Document, WhatIsWrittenByHandHasTheFiguresOfTheResults) {
  const StudyResults results{.size = "quick",
                             .scenarios = {scenario("s", {way("fifo", {{{"wait_mean", 600.4}}})})}};
  EXPECT_EQ(*with_figures("It waits {{s fifo wait_mean}} s.", results), "It waits 600 s.");
  EXPECT_EQ(*with_figures("{{t fifo wait_mean}}", results), "not run");
  EXPECT_THAT(with_figures("{{s fifo wait}}", results).error().message,
              HasSubstr("'{{s fifo wait}}' is not {{SCENARIO WAY FIGURE}}"));
}

TEST(Page, HasAChartForEachSweepAndGreysWaysThatLostJobs) {
  StudyPlan plan{.size = "quick", .ways = {}, .scenarios = {}, .targets = {}, .sweeps = {}};
  plan.ways = {{.name = "headroom", .words = "", .sets = {"rivals"}, .arguments = ""},
               {.name = "none", .words = "", .sets = {"rivals"}, .arguments = ""}};
  plan.sweeps = {{.name = "Load",
                  .x = "load",
                  .scenarios = {"s", "t"},
                  .at = {0.5, 1},
                  .ways = {"headroom"},
                  .figures = {"wait_mean"}}};
  const auto waits = [](const std::string& name, double wait) {
    return scenario(name, {way("headroom", {{{"ended", 5}, {"wait_mean", wait}}}),
                           way("none", {{{"ended", 3}, {"wait_mean", 0}}})});
  };
  const std::string html =
      page({.plan = plan,
            .results = {.size = "quick", .scenarios = {waits("s", 500), waits("t", 900)}},
            .reading = "",
            .live = "",
            .made = "a day"});
  EXPECT_THAT(html, HasSubstr("mean wait, s by load"));
  EXPECT_THAT(html, HasSubstr("background:rgb(255,255,255)\" title=\"500\">500</td>"));
  EXPECT_THAT(html, HasSubstr("color:#999\" title=\"0\">0</td>"));
  EXPECT_THAT(html, HasSubstr("0, ended 3"));
}

}  // namespace
}  // namespace berth::lab
