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
using testing::Not;

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
  target.ways = {"headroom"};
  return {.size = "quick", .ways = {}, .scenarios = {}, .targets = {target}, .drawings = {}};
}

TEST(Targets, AreRatiosToTheBestOfTheOthersInEachRunAndTheWorstFigureCounts) {
  // Of slowdown, in the first run 2 over the 1 of a, in the second 2 over the 4 of b.
  const StudyResults results{
      .size = "quick",
      .scenarios = {scenario(
          "s",
          {way("headroom",
               {{{"slowdown", 2}, {"wait_p95", 240}}, {{"slowdown", 2}, {"wait_p95", 240}}}),
           way("a", {{{"slowdown", 1}, {"wait_p95", 900}}, {{"slowdown", 9}, {"wait_p95", 140}}}),
           way("b",
               {{{"slowdown", 8}, {"wait_p95", 140}}, {{"slowdown", 4}, {"wait_p95", 900}}})})}};
  Target target{.figures = {"slowdown", "wait_p95"}, .over = {"a", "b"}, .at_most = 1.4};
  target.groups = {"g"};
  const auto judged = judge(plan_with(target), results);
  ASSERT_EQ(judged.at(0).verdicts.size(), 1U);
  EXPECT_EQ(judged[0].verdicts[0].figure, "wait_p95");
  EXPECT_DOUBLE_EQ(judged[0].verdicts[0].value, 1.5) << "240 s over 140 s, a minute added to both";
  EXPECT_FALSE(judged[0].is_met());
  const auto slowdown =
      ratio_of(results.scenarios[0], "headroom", {"a", "b"}, *find_figure("slowdown"));
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_DOUBLE_EQ(slowdown->value, 1) << "the geometric mean of 2 and 0.5";
  EXPECT_LT(slowdown->low, 0.5);
  EXPECT_GT(slowdown->high, 2);
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
    const StudyResults results{.size = "quick",
                               .scenarios = {scenario("s", {way("headroom", {{{"slowdown", mine}}}),
                                                            way("a", {{{"slowdown", other}}})})}};
    Target target{.figures = {"slowdown"}, .over = {"a"}, .at_most = 1};
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

/// Two scenarios with `headroom` and `fifo`.
StudyDocument document_of(const std::string& text) {
  StudyPlan plan = plan_with({.figures = {"wait_mean"},
                              .over = {"fifo"},
                              .over_words = "fifo",
                              .at_most = 1,
                              .groups = {"g"}});
  plan.targets[0].table = "T";
  plan.targets[0].head = "wait";
  plan.ways = {{.name = "headroom", .words = "w", .sets = {}, .arguments = "--policy headroom"},
               {.name = "fifo", .words = "f", .sets = {"plain"}, .arguments = "--policy fifo"}};
  plan.drawings = {{.name = "waits",
                    .words = "Waits",
                    .figure = "wait_mean",
                    .y = "s",
                    .scenarios = {"s", "t", "not run"},
                    .columns = {"first", "second", "third"},
                    .ways = {"headroom", "none"}}};
  const auto waits = [](const std::string& name, double wait) {
    return scenario(name, {way("headroom", {{{"ended", 5}, {"wait_mean", wait}}}),
                           way("fifo", {{{"ended", 3}, {"wait_mean", 540.4}}})});
  };
  return {.plan = plan,
          .results = {.size = "quick", .scenarios = {waits("s", 840.6), waits("t", 440)}},
          .text = text,
          .live = "",
          .made = "a day"};
}

TEST(Document, HasTheFiguresAndTablesThatItsTextAsksFor) {
  const auto text = [](const std::string& asked) {
    return written(document_of(asked)).value_or("refused");
  };
  EXPECT_EQ(text("It waits {{s fifo wait_mean}} s."), "It waits 540 s.");
  EXPECT_EQ(text("{{s headroom wait_mean over plain}} times"), "1.50 times");
  EXPECT_EQ(text("{{u fifo wait_mean}}"), "not run");
  EXPECT_EQ(text("{{made}}, {{runs}} runs"), "a day, 4 runs");
  EXPECT_EQ(text("{{drawing waits}}"), "![Waits](evaluation/waits.svg)");
  EXPECT_THAT(text("{{targets}}"),
              HasSubstr("| t | `headroom` | <= 1.00 x fifo | 1 of 2 | 1.17 | 1.50 (s) | missed |"));
  EXPECT_THAT(written(document_of("{{s fifo wait}}")).error().message,
              HasSubstr("'{{s fifo wait}}' is none of what can be filled in"));
}

TEST(Document, TablesHaveEveryTargetScenarioByScenario) {
  const std::string text = tables(document_of(""));
  EXPECT_THAT(text, HasSubstr("### T\n\n| headroom | wait <= 1.00 x fifo |\n"));
  EXPECT_THAT(text, HasSubstr("| s | **1.50** |\n| t | 0.83 |\n"));
  EXPECT_THAT(text, HasSubstr("| headroom | w | `--policy headroom` |"));
  EXPECT_THAT(text, HasSubstr("| headroom | 5 | 841 |"));
}

TEST(Document, ADrawingHasAColumnForEachScenarioThatWasRun) {
  const auto all = drawings(document_of(""));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].first, "waits");
  EXPECT_THAT(all[0].second, HasSubstr(">second<"));
  EXPECT_THAT(all[0].second, Not(HasSubstr(">third<")));
  EXPECT_THAT(all[0].second, Not(HasSubstr(">none<"))) << "it was run nowhere";
}

TEST(Page, HasTheDrawingsInItselfAndGreysWaysThatLostJobs) {
  const StudyDocument document = document_of("{{drawing waits}}\n");
  const std::string html = page(document, written(document).value_or(""));
  EXPECT_THAT(html, HasSubstr("aria-label=\"Waits\""));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("background:rgb(255,255,255)\" title=\"841\">841</td>"));
  EXPECT_THAT(html, HasSubstr("color:#999\" title=\"540\">540</td>"));
}

}  // namespace
}  // namespace berth::lab
