#include "lab/study/heat.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "report/chart.hpp"

namespace berth::lab {

namespace {

/// One table each, all ways against all scenarios.
constexpr auto kHeats = std::to_array<std::string_view>(
    {"wait_mean", "wait_p95", "short_wait_p95", "wait_max", "slowdown", "makespan",
     "run_over_alone", "busy", "service_jain", "slowdown_variance", "lost_gpu_hours",
     "start_error_median"});

/// White for the best, redder the further from it: a factor of four is full.
std::string colour(double over_best) {
  const double far = std::clamp(std::log(std::max(over_best, 1.0)) / std::log(4.0), 0.0, 1.0);
  char text[60];
  std::snprintf(text, sizeof text, "rgb(255,%d,%d)", static_cast<int>(255 - 110 * far),
                static_cast<int>(255 - 130 * far));
  return text;
}

double over(const StudyFigure& figure, double value, double best) {
  if (std::abs(value - best) <= figure.floor) return 1;
  const double ratio = figure.better == Better::Less ? value / best : best / value;
  return std::isfinite(ratio) ? ratio : 1e9;
}

std::string heat_cell(const StudyFigure& figure, const ScenarioResults& scenario,
                      const std::string& name, double best) {
  const WayResults* const way = scenario.find(name);
  const auto interval = way == nullptr ? std::nullopt : way->figure(figure.key);
  if (!interval) return "<td>-</td>";
  const std::string style = ended_most(scenario, *way)
                                ? "background:" + colour(over(figure, interval->mean, best))
                                : std::string("color:#999");
  return "<td style=\"" + style + "\" title=\"" + shown(figure, interval) + "\">" +
         shown(figure, sim::Interval{.mean = interval->mean, .half = {}}) + "</td>";
}

std::optional<double> best_in(const ScenarioResults& scenario, const StudyFigure& figure) {
  std::optional<double> best;
  for (const WayResults& way : scenario.ways) {
    const auto value = way.figure(figure.key);
    if (!value || !ended_most(scenario, way)) continue;
    const bool is_better =
        figure.better == Better::Less ? !best || value->mean < *best : !best || value->mean > *best;
    if (is_better) best = value->mean;
  }
  return best;
}

std::string heat(const StudyDocument& document, const std::string& group,
                 const StudyFigure& figure) {
  std::string head = "<tr><th></th>";
  std::vector<const ScenarioResults*> scenarios;
  for (const ScenarioResults& scenario : document.results.scenarios) {
    if (scenario.group != group || !best_in(scenario, figure)) continue;
    scenarios.push_back(&scenario);
    head += "<th>" + sim::escaped(scenario.name) + "</th>";
  }
  std::string rows;
  for (const StudyWay& way : document.plan.ways) {
    std::string row;
    bool any = false;
    for (const ScenarioResults* scenario : scenarios) {
      any = any || scenario->find(way.name) != nullptr;
      row += heat_cell(figure, *scenario, way.name, *best_in(*scenario, figure));
    }
    if (any) rows += "<tr><td>" + sim::escaped(way.name) + "</td>" + row + "</tr>\n";
  }
  if (rows.empty()) return "";
  return "<h4>" + sim::escaped(std::string(figure.head)) + "</h4>\n<table class=\"heat\">" + head +
         "</tr>\n" + rows + "</table>\n";
}

}  // namespace

bool ended_most(const ScenarioResults& scenario, const WayResults& way) {
  const auto mine = way.figure("ended");
  return std::ranges::none_of(scenario.ways, [&](const WayResults& other) {
    const auto its = other.figure("ended");
    return mine && its && its->mean > mine->mean + find_figure("ended")->floor;
  });
}

std::string heats(const StudyDocument& document) {
  std::vector<std::string> groups;
  for (const ScenarioResults& scenario : document.results.scenarios) {
    if (std::ranges::find(groups, scenario.group) == groups.end()) groups.push_back(scenario.group);
  }
  std::string html =
      "<h3>Every way in every scenario</h3><p>White is the best of the column, full red four "
      "times as bad or worse; a pointer over a cell shows its confidence interval. Grey are ways "
      "that ended fewer jobs than others: figures are of the jobs that ended, so losing the "
      "hardest "
      "looks good.</p>\n";
  for (const std::string& group : groups) {
    std::string tables;
    for (const std::string_view key : kHeats) tables += heat(document, group, *find_figure(key));
    if (!tables.empty()) html += "<h3>" + sim::escaped(group) + "</h3>\n" + tables;
  }
  return html;
}

}  // namespace berth::lab
