#include "lab/study/document.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "lab/study/text.hpp"
#include "report/chart.hpp"

namespace berth::lab {

namespace {

/// What a scenario's table shows of the scorecard; the JSON has all of it.
constexpr auto kShown = std::to_array<std::string_view>(
    {"ended",          "wait_mean",          "wait_p95",        "wait_max",
     "short_wait_p95", "large_wait_max",     "jct_mean",        "slowdown",
     "slowdown_p99",   "preemptions",        "makespan",        "run_over_alone",
     "busy",           "service_jain",       "slowdown_jain",   "oom_admission",
     "lost_gpu_hours", "start_error_median", "started_by_half", "started_by_ninety"});

/// Figures of which some way of the scenario has something to say.
std::vector<const StudyFigure*> known_of(const ScenarioResults& scenario) {
  std::vector<const StudyFigure*> known;
  for (const std::string_view key : kShown) {
    const bool any = std::ranges::any_of(scenario.ways, [&](const WayResults& way) {
      const auto value = way.figure(key);
      return value && value->mean != 0;
    });
    if (any) known.push_back(find_figure(key));
  }
  return known;
}

std::string scenario_table(const ScenarioResults& scenario) {
  const auto figures = known_of(scenario);
  std::string text = "|  |";
  for (const StudyFigure* figure : figures) text += cell(std::string(figure->head));
  text += "\n" + rule(figures.size());
  for (const WayResults& way : scenario.ways) {
    text += "|" + cell(way.way);
    for (const StudyFigure* figure : figures) text += cell(shown(*figure, way.figure(figure->key)));
    text += "\n";
  }
  return text;
}

std::string ways_table(const StudyPlan& plan) {
  std::string text = "| way | what it is | arguments of `berth sim` |\n|---|---|---|\n";
  for (const StudyWay& way : plan.ways) {
    text += "|" + cell(way.name) + cell(way.words) + cell("`" + way.arguments + "`") + "\n";
  }
  return text;
}

std::string losses_section(const StudyDocument& document) {
  std::string text =
      "\n## Where it does not help\n\nEach figure is compared with the best of all rivals in each "
      "scenario, so berth has to beat all of them at once. A\nway that ended fewer jobs takes part "
      "only in figures of losses. *Worse*: by more than 10 %. *Clear*: the 95 %\ninterval of the "
      "difference, seed by seed, does not include 0. *Most often to*: the way that is best in most "
      "of\nthese scenarios.\n";
  for (const auto& [way, rivals] : kJudgedWays) {
    const auto all = balances(document.results, way, ways_in(document.plan, rivals, way));
    text += std::string("\n### Of ") + way + "\n\n" + losses_table(all);
  }
  return text;
}

std::optional<sim::Ranged> drawn(const StudyDocument& document, const Drawing& drawing,
                                 const std::string& name, const std::string& way) {
  const ScenarioResults* const scenario = document.results.find(name);
  if (scenario == nullptr) return std::nullopt;
  return ratio_of(*scenario, way, drawing.over, *find_figure(drawing.figure));
}

std::string svg_of(const StudyDocument& document, const Drawing& drawing) {
  sim::Columns columns{.title = drawing.words,
                       .y = drawing.y,
                       .scale_y = drawing.is_log ? sim::Scale::Log : sim::Scale::Linear,
                       .names = {},
                       .mark = drawing.mark};
  std::vector<sim::Dots> dots;
  for (const std::string& way : drawing.ways) dots.push_back({.name = way, .at = {}});
  for (std::size_t i = 0; i < drawing.scenarios.size(); ++i) {
    if (document.results.find(drawing.scenarios[i]) == nullptr) continue;
    columns.names.push_back(drawing.columns.empty() ? drawing.scenarios[i] : drawing.columns[i]);
    for (sim::Dots& line : dots) {
      line.at.push_back(drawn(document, drawing, drawing.scenarios[i], line.name));
    }
  }
  std::erase_if(dots, [](const sim::Dots& line) {
    return std::ranges::none_of(line.at, [](const auto& at) { return at.has_value(); });
  });
  return dots.empty() ? "" : sim::dot_chart(columns, dots);
}

}  // namespace

std::vector<std::string> ways_in(const StudyPlan& plan, std::string_view set,
                                 std::string_view but) {
  std::vector<std::string> names;
  for (const StudyWay& way : plan.ways) {
    if (way.name == but || std::ranges::find(way.sets, set) == way.sets.end()) continue;
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

std::vector<std::pair<std::string, std::string>> drawings(const StudyDocument& document) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Drawing& drawing : document.plan.drawings) {
    std::string svg = svg_of(document, drawing);
    if (!svg.empty()) all.emplace_back(drawing.name, std::move(svg));
  }
  return all;
}

std::string tables(const StudyDocument& document) {
  std::string text =
      "# Tables of the evaluation\n\nGenerated with [evaluation.md](../evaluation.md), on " +
      document.made +
      ".\n\n## Targets, scenario by scenario\n\nA figure over the best of the ways that the target "
      "names, in each run: the geometric mean over the runs,\nwith a minute added to waits and "
      "completion times above and below; without ways to compare with, the mean.\nA target that is "
      "missed is bold.\n" +
      scorecards(judge(document.plan, document.results)) + losses_section(document) +
      "\n## Ways\n\n" + ways_table(document.plan) +
      "\n## Scenarios\n\nMeans with their 95 % confidence intervals.\n";
  for (const ScenarioResults& scenario : document.results.scenarios) {
    const std::size_t seeds = scenario.ways.front().runs.size();
    text += "\n### " + scenario.name + "\n\n" + scenario.words +
            (scenario.words.ends_with('.') ? " " : ". ") +
            (seeds == 1 ? "One run.\n\n" : std::to_string(seeds) + " seeds.\n\n") +
            scenario_table(scenario);
  }
  return text;
}

}  // namespace berth::lab
