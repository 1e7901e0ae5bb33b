#include "lab/study/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "lab/study/text.hpp"
#include "report/charts.hpp"

namespace berth::lab {

namespace {

constexpr const char* kPageStyle = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>berth: the study</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1240px; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
th, td { padding: .2rem .45rem; text-align: right; border-bottom: 1px solid #e4e4e4;
         vertical-align: top; }
.text, table.heat td:first-child { text-align: left; }
table.heat td:first-child { font-weight: 600; white-space: nowrap; }
svg { width: 590px; max-width: 100%; margin: 0 12px 18px 0; vertical-align: top; }
svg text { font: 11px system-ui, sans-serif; fill: #555; }
svg text.title { font-size: 13px; font-weight: 600; fill: #222; }
svg .grid { stroke: #e4e4e4; }
svg polyline { stroke-width: 1.8; }
</style>
)";

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

/// Whether no other way ended more jobs: a way that loses its hardest jobs is best in nothing.
bool ended_most(const ScenarioResults& scenario, const WayResults& way) {
  const auto mine = way.figure("ended");
  return std::ranges::none_of(scenario.ways, [&](const WayResults& other) {
    const auto its = other.figure("ended");
    return mine && its && its->mean > mine->mean + find_figure("ended")->floor;
  });
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

/// A line for each way over the values of a sweep.
std::vector<sim::Line> lines_of(const StudyDocument& document, const Sweep& sweep,
                                std::string_view key) {
  std::vector<sim::Line> lines;
  for (const std::string& way : sweep.ways) {
    sim::Line line{.name = way, .points = {}};
    for (std::size_t i = 0; i < sweep.scenarios.size(); ++i) {
      const ScenarioResults* const scenario = document.results.find(sweep.scenarios[i]);
      const WayResults* const its = scenario == nullptr ? nullptr : scenario->find(way);
      const auto value = its == nullptr ? std::nullopt : its->figure(key);
      if (value) line.points.push_back({.x = sweep.at[i], .y = value->mean});
    }
    if (line.points.size() == sweep.scenarios.size()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string sweeps(const StudyDocument& document) {
  std::string html;
  for (const Sweep& sweep : document.plan.sweeps) {
    sim::Charts charts;
    bool any = false;
    for (const std::string& key : sweep.figures) {
      const StudyFigure* const figure = find_figure(key);
      const auto lines = lines_of(document, sweep, key);
      if (figure == nullptr || lines.empty()) continue;
      any = true;
      charts.add({.title = std::string(figure->head) + " by " + sweep.x,
                  .x = sweep.x,
                  .y = std::string(figure->head),
                  .scale_x = sweep.is_log ? sim::Scale::Log : sim::Scale::Linear},
                 lines);
    }
    if (any) html += "<h3>" + sim::escaped(sweep.name) + "</h3>\n" + charts.html();
  }
  return html;
}

/// The mean of a figure of each of these ways with its interval, and how many jobs it ended if
/// others ended more.
std::string bars(const ScenarioResults& scenario, const std::vector<std::string>& ways,
                 std::string_view key) {
  const StudyFigure& figure = *find_figure(key);
  std::vector<sim::Bar> list;
  for (const WayResults& way : scenario.ways) {
    const auto value = way.figure(key);
    if (std::ranges::find(ways, way.way) == ways.end() || !value) continue;
    std::string words = shown(figure, value);
    if (!ended_most(scenario, way)) {
      words += ", ended " + shown(*find_figure("ended"), way.figure("ended"));
    }
    list.push_back({.name = way.way, .value = value->mean, .words = std::move(words)});
  }
  const bool any = std::ranges::any_of(list, [](const sim::Bar& bar) { return bar.value > 0; });
  return any ? sim::bar_chart(scenario.name + ": " + std::string(figure.head), list) : "";
}

std::string trade_offs(const StudyDocument& document, const ScenarioResults& scenario) {
  sim::Charts charts;
  std::vector<std::string> drawn = ways_in(document.plan, "charts");
  drawn.emplace_back(kJudgedWay);
  const auto dots = [&](std::string_view x, std::string_view y) {
    std::vector<std::pair<std::string, sim::Point>> list;
    for (const WayResults& way : scenario.ways) {
      if (std::ranges::find(drawn, way.way) == drawn.end()) continue;
      if (!ended_most(scenario, way)) continue;
      const auto one = way.figure(x);
      const auto other = way.figure(y);
      if (one && other) list.push_back({way.way, {.x = one->mean, .y = other->mean}});
    }
    return list;
  };
  const auto add = [&](std::string_view x, std::string_view y) {
    const auto list = dots(x, y);
    if (list.size() < 2) return;
    charts.add({.title = scenario.name + ": " + std::string(find_figure(x)->head) + " against " +
                         std::string(find_figure(y)->head),
                .x = std::string(find_figure(x)->head),
                .y = std::string(find_figure(y)->head)},
               list);
  };
  add("short_wait_p95", "wait_max");
  return charts.html();
}

std::string figures_of_page(const StudyDocument& document) {
  std::string html = "<h2>Figures</h2>\n" + sweeps(document) + heats(document) +
                     "<h3>Scenario by scenario</h3><p>Bars are means with their 95 % confidence "
                     "intervals. Dots are ways that ended as many jobs as any; less is better on "
                     "both axes.</p>\n";
  std::vector<std::string> ways = ways_in(document.plan, kRivals);
  ways.emplace_back(kJudgedWay);
  for (const ScenarioResults& scenario : document.results.scenarios) {
    if (scenario.group == kOrders) continue;
    html += bars(scenario, ways, "wait_mean") + trade_offs(document, scenario);
  }
  return html;
}

}  // namespace

std::string page(const StudyDocument& document) {
  std::string html = html_of(markdown(document));
  const std::size_t before = html.find("<h2>Where it does not help");
  html.insert(std::min(before, html.size()), figures_of_page(document));
  return kPageStyle + html + "</html>\n";
}

}  // namespace berth::lab
