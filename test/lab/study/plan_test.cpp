// Goal: the study's plan is read as written, and what is wrong in it is named; results are written
// and read without loss; a run keeps the commands that make it again.
// Method: small plans and summaries as text; the plan of the repository.
#include "lab/study/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/study/runner.hpp"
#include "lab/study/text.hpp"
#include "support/paths.hpp"

namespace berth::lab {
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"(
[size.quick]
seeds = 2
jobs = 30
[machine]
m = "--share duty"
[[way]]
name = "a"
sets = ["all"]
arguments = "--policy fifo"
[[way]]
name = "b"
sets = ["some"]
arguments = "--policy easy"
[[scenario]]
name = "s"
make = "{berth} trace generate philly-like --jobs {jobs} --seed {seed} --out s-{seed}.csv"
trace = "s-{seed}.csv"
arguments = "--cluster 1x8"
machine = "m"
sets = ["all"]
)";

TEST(Plan, FillsInCommandsForEachSeed) {
  const auto plan = read_plan(kSmall, "p.toml", "quick", "");
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const StudyResults results = planned(*plan, {.berth = "berth"});
  ASSERT_EQ(results.scenarios.size(), 1U);
  ASSERT_EQ(results.scenarios[0].ways.size(), 1U) << "b is in no set of s";
  const StudyRun& run = results.scenarios[0].ways[0].runs.at(1);
  EXPECT_EQ(run.make, "berth trace generate philly-like --jobs 30 --seed 2 --out s-2.csv");
  EXPECT_EQ(run.command,
            "berth sim --trace s-2.csv --cluster 1x8 --share duty --policy fifo --seed 2 --json");
}

TEST(Plan, NamesWhatIsWrong) {
  const auto error = [](const std::string& more) {
    const auto plan = read_plan(kSmall + more, "p.toml", "quick", "");
    return plan ? "" : plan.error().message;
  };
  EXPECT_THAT(error("[[way]]\nname = 3\n"), HasSubstr("p.toml:22: way: name must be a string"));
  EXPECT_THAT(error("[[way]]\nnam = \"x\"\n"), HasSubstr("nam must be left out"));
  EXPECT_THAT(error("[[scenario]]\nname = \"t\"\n"), HasSubstr("'t': must have a name, a trace"));
  EXPECT_THAT(error("[[drawing]]\nscenarios = [\"s\"]\ncolumns = [\"a\", \"b\"]\n"),
              HasSubstr("as many columns"));
  EXPECT_THAT(error("[[grid]]\ntemplate = \"t\"\n"), HasSubstr("there is no template 't'"));
  EXPECT_THAT(error("[template.t]\n[[grid]]\ntemplate = \"t\"\naxes = [[\"v\"]]\n"),
              HasSubstr("there is no value 'v'"));
  const auto full = read_plan(kSmall, "p.toml", "full", "");
  EXPECT_THAT(full.error().message, HasSubstr("there is no [size.full]"));
}

TEST(Plan, AGridIsAScenarioForEachChoiceOfValues) {
  const auto plan = read_plan(std::string(kSmall) + R"(
[template.t]
group = "g"
make = "made"
trace = "t.csv"
arguments = "--one"
sets = ["all"]
[value.x]
words = "an x"
arguments = "--x"
[value.y]
words = "a y"
make = ""
trace = "y.csv"
sizes = ["full"]
[value.z]
words = "with z"
arguments = "--z"
sets = ["some"]
[[grid]]
template = "t"
axes = [["x", "y"], ["z"]]
[[target]]
name = "n"
ways = ["a"]
over = ["all", "b"]
figures = ["wait_mean"]
at_most = 1
scenarios = ["x-*"]
)",
                              "p.toml", "quick", "");
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_EQ(plan->scenarios.size(), 2U) << "s and x-z: y is not of this size";
  const Scenario& scenario = plan->scenarios[1];
  EXPECT_EQ(scenario.name, "x-z");
  EXPECT_EQ(scenario.words, "an x, with z");
  EXPECT_EQ(scenario.arguments, "--one --x --z");
  EXPECT_EQ(scenario.make, "made");
  EXPECT_EQ(scenario.ways, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(plan->targets[0].over, (std::vector<std::string>{"a", "b"})) << "all is a set";
  EXPECT_EQ(plan->targets[0].over_words, "all, b");
  EXPECT_EQ(plan->targets[0].scenarios, (std::vector<std::string>{"x-z"}));
}

TEST(Plan, OfTheRepositoryNamesOnlyWhatThereIs) {
  std::ifstream file(test::source_dir() / "lab/study/study.toml");
  std::ostringstream text;
  text << file.rdbuf();
  for (const char* size : {"quick", "full"}) {
    const auto plan = read_plan(text.str(), "study.toml", size, "../shared");
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const auto is_way = [&](const std::string& name) {
      return std::ranges::find(plan->ways, name, &StudyWay::name) != plan->ways.end();
    };
    for (const Target& target : plan->targets) {
      EXPECT_FALSE(target.ways.empty()) << target.name;
      for (const auto& way : target.ways) EXPECT_TRUE(is_way(way)) << target.name << ": " << way;
      EXPECT_NE(target.at_most.has_value(), target.at_least.has_value()) << target.name;
      for (const auto& way : target.over) EXPECT_TRUE(is_way(way)) << target.name << ": " << way;
      for (const auto& key : target.figures) EXPECT_NE(find_figure(key), nullptr) << key;
    }
    for (const Drawing& drawing : plan->drawings) {
      EXPECT_FALSE(drawing.ways.empty()) << drawing.name;
      for (const auto& way : drawing.ways) EXPECT_TRUE(is_way(way)) << drawing.name << ": " << way;
      EXPECT_NE(find_figure(drawing.figure), nullptr) << drawing.name;
      const auto run = std::ranges::count_if(drawing.scenarios, [&](const auto& name) {
        return std::ranges::find(plan->scenarios, name, &Scenario::name) != plan->scenarios.end();
      });
      if (std::string(size) == "full") {
        EXPECT_EQ(run, std::ssize(drawing.scenarios)) << drawing.name;
      }
    }
  }
}

TEST(Results, AreReadAsTheyWereWritten) {
  StudyResults results{.size = "quick", .scenarios = {}};
  results.scenarios.push_back({.name = "s", .words = "w", .group = "g", .ways = {}});
  results.scenarios[0].ways.push_back({.way = "a", .runs = {}});
  auto& runs = results.scenarios[0].ways[0].runs;
  runs.push_back({.seed = 1, .make = "m1", .command = "c1", .figures = {{"wait_mean", 10}}});
  runs.push_back({.seed = 4, .make = "m4", .command = "c4", .error = "it died"});
  const auto read = results_of(StudyJson::parse(json_lines(to_json(results))));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto& again = read->scenarios.at(0).ways.at(0).runs;
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].figures, runs[0].figures);
  EXPECT_EQ(again[1].seed, 4U);
  EXPECT_EQ(again[1].make, "m4");
  EXPECT_EQ(again[1].command, "c4");
  EXPECT_EQ(again[1].error, "it died");
  EXPECT_FALSE(read->scenarios[0].ways[0].figure("wait_mean")) << "one seed lacks it";
}

TEST(Results, ASummaryIsReadByTheNamesOfTheScorecard) {
  StudyRun run;
  const auto done = read_summary(
      R"({"jobs": 7, "wait_seconds": {"mean": 1.23456789, "p95": null},
          "machine": {"ooms": {"admission": 2}},
          "waits": {"order": {"mean_seconds": 4.5}, "memory": {"mean_seconds": 0}}})",
      run);
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(run.figures, (std::map<std::string, double>{
                             {"ended", 7}, {"wait_mean", 1.23457}, {"oom_admission", 2}}));
  EXPECT_EQ(run.waits, (std::map<std::string, double>{{"order", 4.5}}));
  EXPECT_THAT(read_summary("berth: no", run).error().message, HasSubstr("is no summary"));
}

TEST(Results, OfEarlierRunsAreKeptIfTheirCommandsAreTheSame) {
  const auto results_with = [](const std::string& command, std::map<std::string, double> figures) {
    StudyResults results{.size = "quick", .scenarios = {}};
    results.scenarios.push_back({.name = "s", .words = "", .group = "", .ways = {}});
    for (const char* name : {"a", "b"}) {
      auto& way = results.scenarios[0].ways.emplace_back(WayResults{.way = name, .runs = {}});
      way.runs.push_back({.seed = 1, .command = command, .figures = figures});
    }
    return results;
  };
  StudyResults same = results_with("c", {});
  keep(same, results_with("c", {{"ended", 3}}), {"b"});
  EXPECT_EQ(same.scenarios[0].ways[0].runs[0].figures.size(), 1U);
  EXPECT_TRUE(same.scenarios[0].ways[1].runs[0].figures.empty()) << "b is to be run again";
  StudyResults other = results_with("d", {});
  keep(other, results_with("c", {{"ended", 3}}), {});
  EXPECT_TRUE(other.scenarios[0].ways[0].runs[0].figures.empty());
}

TEST(Commands, GiveTheirOutputOrTheLastLineOfTheirErrors) {
  EXPECT_EQ(*output_of("echo a; echo b >&2"), "a\n");
  EXPECT_EQ(output_of("echo first >&2; echo last >&2; false").error().message, "last");
}

TEST(Html, IsMadeOfHeadingsTablesListsAndCode) {
  EXPECT_EQ(
      html_of("# A <b>\n\nOne `x`\ntwo *y*.\n\n- **z**\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n"),
      "<h1>A &lt;b></h1>\n<p>\nOne <code>x</code>\ntwo <em>y</em>.\n</p>\n<ul>\n"
      "<li><strong>z</strong>\n</ul>\n<table>\n"
      "<tr><th class=\"text\"> a </th><th> b </th></tr>\n"
      "<tr><td class=\"text\"> 1 </td><td> 2 </td></tr>\n</table>\n");
  EXPECT_EQ(html_of("See [a page](a.md) 2 * 3 * 4.\n"), "<p>\nSee a page 2 * 3 * 4.\n</p>\n");
}

}  // namespace
}  // namespace berth::lab
