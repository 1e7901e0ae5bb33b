#include "lab/study/page.hpp"

#include <algorithm>

#include "lab/study/heat.hpp"
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
