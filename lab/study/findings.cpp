#include "lab/study/findings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace berth::lab {

namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::optional<double> mean_of(const ScenarioResults& scenario, std::string_view way,
                              std::string_view key) {
  const WayResults* const results = scenario.find(way);
  const auto interval = results == nullptr ? std::nullopt : results->figure(key);
  return interval ? std::optional(interval->mean) : std::nullopt;
}

bool is_better(Better better, double one, double other) {
  return better == Better::Less ? one < other : one > other;
}

/// The best mean among these ways.
std::optional<double> best_of(const ScenarioResults& scenario, const std::vector<std::string>& ways,
                              const StudyFigure& figure) {
  std::optional<double> best;
  for (const std::string& way : ways) {
    const auto value = mean_of(scenario, way, figure.key);
    if (value && (!best || is_better(figure.better, *value, *best))) best = value;
  }
  return best;
}

/// As it is, or over the best of the others. 0 over 0 is 1.
std::optional<double> value_of(const Target& target, const ScenarioResults& scenario,
                               const StudyFigure& figure) {
  const auto mine = mean_of(scenario, target.way, figure.key);
  if (!mine || target.over.empty()) return mine;
  const auto best = best_of(scenario, target.over, figure);
  if (!best) return std::nullopt;
  if (*best != 0) return *mine / *best;
  return *mine == 0 ? 1 : std::numeric_limits<double>::infinity();
}

/// How far it is from being met; 0 or less if it is.
double missed_by(const Target& target, double value) {
  return target.at_most ? value - *target.at_most : target.at_least.value_or(0) - value;
}

std::optional<Verdict> verdict_of(const Target& target, const ScenarioResults& scenario) {
  std::optional<Verdict> worst;
  for (const std::string& key : target.figures) {
    const StudyFigure* const figure = find_figure(key);
    const auto value = figure == nullptr ? std::nullopt : value_of(target, scenario, *figure);
    if (!value) return std::nullopt;
    if (worst && missed_by(target, *value) <= missed_by(target, worst->value)) continue;
    worst = Verdict{.scenario = scenario.name,
                    .figure = key,
                    .value = *value,
                    .met = missed_by(target, *value) <= 0};
  }
  return worst;
}

/// Counts of what was lost: there a way that ended fewer jobs is no better for it.
bool counts_losses(std::string_view key) {
  return key == "ended" || key == "timed_out" || key == "failed_for_memory" || key == "overruns" ||
         key == "lost_gpu_hours" || key.starts_with("oom_");
}

struct Rival {
  const WayResults* way = nullptr;
  double value = 0;
};

/// The best of the rivals that may be compared.
std::optional<Rival> best_rival(const ScenarioResults& scenario, const WayResults& mine,
                                const std::vector<std::string>& rivals, const StudyFigure& figure) {
  std::optional<Rival> best;
  const auto ended = mine.figure("ended");
  for (const std::string& name : rivals) {
    const WayResults* const way = scenario.find(name);
    const auto value = way == nullptr ? std::nullopt : way->figure(figure.key);
    if (!value || name == mine.way) continue;
    const auto its = way->figure("ended");
    if (!counts_losses(figure.key) && its && ended && its->mean < ended->mean) continue;
    if (!best || is_better(figure.better, value->mean, best->value)) best = {way, value->mean};
  }
  return best;
}

bool is_loss(const StudyFigure& figure, double mine, double best) {
  if (!is_better(figure.better, best, mine)) return false;
  return std::abs(mine - best) > std::max(figure.floor, kWorse * std::abs(best));
}

bool is_clear(const WayResults& mine, const WayResults& other, std::string_view key) {
  const auto less = mine.less(other, key);
  return less && less->half && std::abs(less->mean) > *less->half;
}

void compare(Balance& balance, const ScenarioResults& scenario, std::string_view way,
             const std::vector<std::string>& rivals) {
  const StudyFigure& figure = *find_figure(balance.figure);
  const WayResults* const results = scenario.find(way);
  const auto mine = results == nullptr ? std::nullopt : results->figure(figure.key);
  if (!mine) return;
  const auto rival = best_rival(scenario, *results, rivals, figure);
  if (!rival) return;
  ++balance.scenarios;
  if (!is_better(figure.better, rival->value, mine->mean)) {
    ++balance.best;
  } else if (!is_loss(figure, mine->mean, rival->value)) {
    ++balance.within;
  } else {
    balance.losses.push_back({.scenario = scenario.name,
                              .figure = balance.figure,
                              .mine = mine->mean,
                              .best = rival->value,
                              .best_way = rival->way->way,
                              .is_clear = is_clear(*results, *rival->way, figure.key)});
  }
}

}  // namespace

const Verdict& Judged::worst() const {
  return *std::ranges::max_element(
      verdicts, {}, [&](const Verdict& verdict) { return missed_by(target, verdict.value); });
}

std::vector<Judged> judge(const StudyPlan& plan, const StudyResults& results) {
  std::vector<Judged> all;
  for (const Target& target : plan.targets) {
    Judged& judged = all.emplace_back(Judged{.target = target, .verdicts = {}});
    for (const ScenarioResults& scenario : results.scenarios) {
      if (!has(target.groups, scenario.group) && !has(target.scenarios, scenario.name)) continue;
      const auto verdict = verdict_of(target, scenario);
      if (!verdict) continue;
      judged.met += verdict->met ? 1 : 0;
      judged.verdicts.push_back(*verdict);
    }
    judged.need = target.need > 0 ? target.need : judged.verdicts.size();
  }
  return all;
}

std::vector<Balance> balances(const StudyResults& results, std::string_view way,
                              const std::vector<std::string>& rivals) {
  std::vector<Balance> all;
  for (const StudyFigure& figure : study_figures()) {
    if (!figure.judges) continue;
    Balance balance{.figure = std::string(figure.key), .losses = {}};
    for (const ScenarioResults& scenario : results.scenarios) {
      compare(balance, scenario, way, rivals);
    }
    if (balance.scenarios > 0) all.push_back(std::move(balance));
  }
  return all;
}

}  // namespace berth::lab
