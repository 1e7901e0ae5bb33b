#include "lab/study/document.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "lab/study/text.hpp"

namespace berth::lab {

namespace {

/// What a scenario's table shows of the scorecard; the JSON has all of it.
constexpr auto kShown = std::to_array<std::string_view>(
    {"ended", "wait_mean", "wait_p95", "wait_max", "short_wait_p95", "large_wait_max", "slowdown",
     "makespan", "run_over_alone", "busy", "service_jain", "slowdown_variance", "oom_admission",
     "lost_gpu_hours", "start_error_median"});

/// Of the parts of the judged way.
constexpr auto kShownOfParts = std::to_array<std::string_view>(
    {"wait_mean", "wait_p95", "short_wait_p95", "wait_max", "slowdown", "makespan",
     "run_over_alone", "slowdown_variance"});

/// The ways whose mean waits stand beside each other in the summary.
constexpr auto kShownInSummary = std::to_array<std::string_view>({kJudgedWay, "fifo", "exclusive"});

/// Figures that some way of the scenario knows.
std::vector<const StudyFigure*> known_of(const ScenarioResults& scenario) {
  std::vector<const StudyFigure*> known;
  for (const std::string_view key : kShown) {
    const bool any = std::ranges::any_of(
        scenario.ways, [&](const WayResults& way) { return way.figure(key).has_value(); });
    if (any) known.push_back(find_figure(key));
  }
  return known;
}

std::string scenario_table(const ScenarioResults& scenario, const std::vector<std::string>& ways) {
  const auto figures = known_of(scenario);
  std::string text = "|  |";
  for (const StudyFigure* figure : figures) text += cell(std::string(figure->head));
  text += "\n" + rule(figures.size());
  for (const WayResults& way : scenario.ways) {
    if (way.way != kJudgedWay && std::ranges::find(ways, way.way) == ways.end()) continue;
    text += "|" + cell(way.way);
    for (const StudyFigure* figure : figures) text += cell(shown(*figure, way.figure(figure->key)));
    text += "\n";
  }
  return text;
}

/// Scenarios that have one run each, a row each: mean and p95 wait of each way.
std::string orders_table(const StudyDocument& document) {
  std::string text;
  for (const ScenarioResults& scenario : document.results.scenarios) {
    if (scenario.group != kOrders) continue;
    if (text.empty()) {
      text = "| mean, p95 wait, s |";
      for (const WayResults& way : scenario.ways) text += cell(way.way);
      text += " no schedule waits less than |\n" + rule(scenario.ways.size() + 1);
    }
    text += "|" + cell(scenario.name);
    for (const WayResults& way : scenario.ways) {
      text += cell(shown(*find_figure("wait_mean"), way.figure("wait_mean")) + ", " +
                   shown(*find_figure("wait_p95"), way.figure("wait_p95")));
    }
    const auto bound = scenario.ways.front().figure("bound_wait");
    text += cell(shown(*find_figure("bound_wait"), bound)) + "\n";
  }
  return text;
}

std::string scenarios_section(const StudyDocument& document) {
  std::string text = "## Scenarios\n";
  const auto rivals = ways_in(document.plan, kRivals);
  for (const ScenarioResults& scenario : document.results.scenarios) {
    if (scenario.group == kOrders) continue;
    text += "\n### " + scenario.name + "\n\n" + scenario.words + " " +
            std::to_string(scenario.ways.front().runs.size()) + " seeds.\n\n" +
            scenario_table(scenario, rivals);
  }
  const std::string orders = orders_table(document);
  if (orders.empty()) return text;
  return text +
         "\n### The order alone\n\nRun times are known exactly, the machine is perfect, one run "
         "each; `-limits`: with limits of twice the run time.\n\n" +
         orders;
}

/// What each scenario is, and mean waits.
std::string scenarios_summary(const StudyResults& results) {
  std::string text =
      "## Scenarios\n\nMean waits in seconds; a way that ended fewer jobs may wait less. The "
      "scenarios of the first target, in which\nonly the order of jobs differs, are described in "
      "[results/default.md](results/default.md).\n\n| scenario | what it is |";
  for (const std::string_view way : kShownInSummary) text += cell(std::string(way));
  text += "\n|---|---|---:|---:|---:|\n";
  for (const ScenarioResults& scenario : results.scenarios) {
    if (scenario.group == kOrders) continue;
    text += "|" + cell(scenario.name) + cell(scenario.words);
    for (const std::string_view way : kShownInSummary) {
      const WayResults* const its = scenario.find(way);
      const auto wait = its == nullptr ? std::nullopt : its->figure("wait_mean");
      text += cell(shown(*find_figure("wait_mean"), wait));
    }
    text += "\n";
  }
  return text;
}

std::string ways_section(const StudyPlan& plan) {
  std::string text = "## Ways\n\n| way | what it is | arguments of `berth sim` |\n|---|---|---|\n";
  for (const StudyWay& way : plan.ways) {
    text += "|" + cell(way.name) + cell(way.words) + cell("`" + way.arguments + "`") + "\n";
  }
  return text;
}

std::string parts_section(const StudyDocument& document) {
  const auto parts = ways_in(document.plan, kParts);
  if (parts.empty()) return "";
  std::string text =
      "## Without each part\n\nEach figure is divided by that of `headroom`; the table has the "
      "geometric mean over the scenarios in which\nthe way was run and both figures are above 0. "
      "A value above 1 means that the part improves the figure.\n\n|  |";
  for (const std::string_view key : kShownOfParts)
    text += cell(std::string(find_figure(key)->head));
  text += "\n" + rule(kShownOfParts.size());
  for (const std::string& way : parts) {
    text += "|" + cell(way);
    for (const std::string_view key : kShownOfParts) {
      const auto ratio = ratio_to_judged(document.results, way, key);
      char words[40] = "-";
      if (ratio) std::snprintf(words, sizeof words, "%.2f", *ratio);
      text += cell(words);
    }
    text += "\n";
  }
  return text;
}

std::string opening(const StudyDocument& document) {
  std::size_t runs = 0;
  for (const ScenarioResults& scenario : document.results.scenarios) {
    for (const WayResults& way : scenario.ways) runs += way.runs.size();
  }
  return "# Evaluation\n\nThis page compares ways to run a GPU cluster: berth's default policy, "
         "`headroom`, with other policies and with\nscripts that poll for memory. The ways are "
         "listed under [Ways](#ways), the workloads under [Scenarios](#scenarios).\n\n"
         "Generated by `tools/eval --" +
         document.results.size + "` on " + document.made + ": " + std::to_string(runs) +
         " simulated runs in " + std::to_string(document.results.scenarios.size()) +
         " scenarios.\n`evaluation.json` has every figure of every run and the commands that "
         "repeat it, to be run at the top of the\nrepository after `tools/build release`. "
         "`build/release/bin/berth-eval report --folder doc` makes\n`doc/evaluation.html` of it, "
         "with every table and charts. [metrics.md](metrics.md) defines the figures. Means\nhave "
         "95 % confidence intervals over the seeds.\n";
}

}  // namespace

std::vector<std::string> ways_in(const StudyPlan& plan, std::string_view set) {
  std::vector<std::string> names;
  for (const StudyWay& way : plan.ways) {
    if (way.name == kJudgedWay || std::ranges::find(way.sets, set) == way.sets.end()) continue;
    names.push_back(way.name);
  }
  return names;
}

std::string shown(const StudyFigure& figure, const std::optional<sim::Interval>& interval) {
  if (!interval) return "-";
  char text[80];
  std::snprintf(text, sizeof text, "%.*f", figure.digits, interval->mean);
  std::string words = text;
  if (interval->half && *interval->half > 0) {
    std::snprintf(text, sizeof text, " ±%.*f", figure.digits, *interval->half);
    words += text;
  }
  return words;
}

std::optional<double> ratio_to_judged(const StudyResults& results, std::string_view way,
                                      std::string_view figure) {
  double sum = 0;
  int count = 0;
  for (const ScenarioResults& scenario : results.scenarios) {
    const WayResults* const mine = scenario.find(kJudgedWay);
    const WayResults* const its = scenario.find(way);
    if (mine == nullptr || its == nullptr) continue;
    const auto one = mine->figure(figure);
    const auto other = its->figure(figure);
    if (!one || !other || one->mean <= 0 || other->mean <= 0) continue;
    sum += std::log(other->mean / one->mean);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

std::string markdown(const StudyDocument& document) {
  const auto judged = judge(document.plan, document.results);
  const auto balance = balances(document.results, kJudgedWay, ways_in(document.plan, kRivals));
  std::string text = opening(document) + "\n" + targets_section(judged) + "\n";
  if (!document.reading.empty()) text += document.reading + "\n";
  text += losses_section(balance) + "\n" + causes_section(document.results) + "\n";
  if (const std::string parts = parts_section(document); !parts.empty()) text += parts + "\n";
  text += ways_section(document.plan) + "\n" + scenarios_section(document);
  if (!document.live.empty()) text += "\n" + document.live;
  return text;
}

std::string summary(const StudyDocument& document) {
  const auto judged = judge(document.plan, document.results);
  const auto balance = balances(document.results, kJudgedWay, ways_in(document.plan, kRivals));
  std::string text = opening(document) + "\n" + targets_section(judged) + "\n";
  if (!document.reading.empty()) text += document.reading + "\n";
  text += losses_summary(balance) + "\n" + causes_summary(document.results) + "\n";
  if (const std::string parts = parts_section(document); !parts.empty()) text += parts + "\n";
  text += ways_section(document.plan) + "\n" + scenarios_summary(document.results);
  if (!document.live.empty()) text += "\n" + document.live;
  return text;
}

}  // namespace berth::lab
