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

bool is_better(Better better, double one, double other) {
  return better == Better::Less ? one < other : one > other;
}

/// The best among these ways in one run. Nothing if none of them knows the figure.
std::optional<double> best_in(const ScenarioResults& scenario, const std::vector<std::string>& ways,
                              std::size_t run, const StudyFigure& figure) {
  std::optional<double> best;
  for (const std::string& name : ways) {
    const WayResults* const way = scenario.find(name);
    if (way == nullptr || run >= way->runs.size()) continue;
    const auto found = way->runs[run].figures.find(std::string(figure.key));
    if (found == way->runs[run].figures.end()) continue;
    if (!best || is_better(figure.better, found->second, *best)) best = found->second;
  }
  return best;
}

double over(double mine, double best, double added) {
  if (best + added != 0) return (mine + added) / (best + added);
  return mine == 0 ? 1 : std::numeric_limits<double>::infinity();
}

/// How far it is from being met; 0 or less if it is.
double missed_by(const Target& target, double value) {
  return target.at_most ? value - *target.at_most : target.at_least.value_or(0) - value;
}

std::optional<Verdict> verdict_of(const Target& target, std::string_view way,
                                  const ScenarioResults& scenario) {
  std::optional<Verdict> worst;
  for (const std::string& key : target.figures) {
    const StudyFigure* const figure = find_figure(key);
    const auto ratio =
        figure == nullptr ? std::nullopt : ratio_of(scenario, way, target.over, *figure);
    if (!ratio) return std::nullopt;
    if (worst && missed_by(target, ratio->value) <= missed_by(target, worst->value)) continue;
    worst = Verdict{.scenario = scenario.name,
                    .figure = key,
                    .value = ratio->value,
                    .met = missed_by(target, ratio->value) <= 0};
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

std::optional<sim::Ranged> ratio_of(const ScenarioResults& scenario, std::string_view way,
                                    const std::vector<std::string>& over_ways,
                                    const StudyFigure& figure) {
  const WayResults* const mine = scenario.find(way);
  if (mine == nullptr || mine->runs.empty()) return std::nullopt;
  std::vector<double> values;
  for (std::size_t run = 0; run < mine->runs.size(); ++run) {
    const auto found = mine->runs[run].figures.find(std::string(figure.key));
    if (found == mine->runs[run].figures.end()) return std::nullopt;
    if (over_ways.empty()) {
      values.push_back(found->second);
      continue;
    }
    const auto best = best_in(scenario, over_ways, run, figure);
    if (!best) return std::nullopt;
    values.push_back(std::log(over(found->second, *best, figure.added())));
  }
  const auto interval = sim::interval_of(values);
  if (!interval) return std::nullopt;
  const double half = interval->half.value_or(0);
  const sim::Ranged ranged{interval->mean, interval->mean - half, interval->mean + half};
  if (over_ways.empty()) return ranged;
  return sim::Ranged{std::exp(ranged.value), std::exp(ranged.low), std::exp(ranged.high)};
}

std::vector<Judged> judge(const StudyPlan& plan, const StudyResults& results) {
  std::vector<Judged> all;
  for (const Target& target : plan.targets) {
    for (const std::string& way : target.ways) {
      Judged& judged = all.emplace_back(Judged{.target = target, .way = way, .verdicts = {}});
      for (const ScenarioResults& scenario : results.scenarios) {
        if (!has(target.groups, scenario.group) && !has(target.scenarios, scenario.name)) continue;
        const auto verdict = verdict_of(target, way, scenario);
        if (!verdict) continue;
        judged.met += verdict->met ? 1 : 0;
        judged.verdicts.push_back(*verdict);
      }
      judged.need = target.need > 0 ? target.need : judged.verdicts.size();
    }
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
