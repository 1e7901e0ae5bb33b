// The tables of the document that are findings: targets, losses, causes, parts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <span>

#include "lab/study/document.hpp"
#include "lab/study/text.hpp"

namespace berth::lab {

namespace {

std::string bound_of(const Target& target) {
  std::string text = target.at_most ? "<= " + number(*target.at_most)
                                    : ">= " + number(target.at_least.value_or(0));
  if (target.over.empty()) return text;
  text += " x " + target.over_words;
  return text;
}

double middle_of(const Judged& judged) {
  std::vector<double> values;
  for (const Verdict& verdict : judged.verdicts) values.push_back(verdict.value);
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string target_row(const Judged& judged) {
  std::string row =
      "|" + cell(judged.target.name) + cell("`" + judged.way + "`") + cell(bound_of(judged.target));
  if (judged.verdicts.empty()) return row + " - | - | - | not measured |\n";
  const Verdict& worst = judged.worst();
  row += cell(std::to_string(judged.met) + " of " + std::to_string(judged.verdicts.size())) +
         cell(number(middle_of(judged))) + cell(number(worst.value) + " (" + worst.scenario + ")");
  if (judged.is_met()) return row + " met |\n";
  return row + " missed" +
         (judged.target.need > 0 ? ": needs " + std::to_string(judged.need) : "") + " |\n";
}

/// A target of more ways than these has one row for all of them.
constexpr std::size_t kMostRows = 2;

/// One target's ways as one.
Judged together(std::span<const Judged> all) {
  Judged whole{.target = all.front().target,
               .way = all.front().way + " to " + all.back().way,
               .verdicts = {}};
  for (const Judged& one : all) {
    whole.met += one.met;
    whole.need += one.need;
    for (Verdict verdict : one.verdicts) {
      verdict.scenario += ", " + one.way;
      whole.verdicts.push_back(std::move(verdict));
    }
  }
  return whole;
}

/// The cell of a scenario in a column.
std::string verdict_cell(const Judged& column, const std::string& scenario) {
  const auto found = std::ranges::find(column.verdicts, scenario, &Verdict::scenario);
  if (found == column.verdicts.end()) return cell("-");
  const std::string value = number(found->value);
  return cell(found->met ? value : "**" + value + "**");
}

/// The columns of one table of one way.
std::string scorecard(const std::vector<const Judged*>& columns) {
  std::string text = "\n| " + columns.front()->way + " |";
  for (const Judged* column : columns) {
    text += cell(column->target.head + " " + bound_of(column->target));
  }
  text += "\n" + rule(columns.size());
  std::vector<std::string> scenarios;
  for (const Judged* column : columns) {
    for (const Verdict& verdict : column->verdicts) {
      const bool is_new = std::ranges::find(scenarios, verdict.scenario) == scenarios.end();
      if (is_new) scenarios.push_back(verdict.scenario);
    }
  }
  for (const std::string& scenario : scenarios) {
    text += "|" + cell(scenario);
    for (const Judged* column : columns) text += verdict_cell(*column, scenario);
    text += "\n";
  }
  return text;
}

/// The way to which most of these were lost, and how many; "" without any.
std::string winner_of(const Balance& balance) {
  std::map<std::string, std::size_t> lost_to;
  for (const Loss& loss : balance.losses) ++lost_to[loss.best_way];
  const auto most = std::ranges::max_element(
      lost_to, {}, [](const auto& way_and_count) { return way_and_count.second; });
  if (most == lost_to.end()) return "";
  return most->first + " (" + std::to_string(most->second) + ")";
}

/// How often the judged way is best, within a tenth and worse.
std::string counts_of(const Balance& balance) {
  return cell(std::string(find_figure(balance.figure)->head)) +
         cell(std::to_string(balance.scenarios)) + cell(std::to_string(balance.best)) +
         cell(std::to_string(balance.within)) + cell(std::to_string(balance.losses.size()));
}

/// Where head-of-line blocking, memory and places show, and how jobs die.
constexpr auto kWaysOfCauses = std::to_array<std::string_view>(
    {"fifo", "fifo-skip", "easy", "exclusive", "shards", "fair-share", "headroom", "turns"});

/// Of the parts of a judged way.
constexpr auto kShownOfParts = std::to_array<std::string_view>(
    {"wait_mean", "wait_p95", "jct_mean", "slowdown", "slowdown_p99", "large_wait_max",
     "service_jain", "preemptions"});

/// Mean seconds of a job by reason, over all scenarios with this way.
std::vector<double> reasons_of(const StudyResults& results, std::string_view way,
                               const std::vector<std::string>& reasons) {
  std::vector<double> sums(reasons.size(), 0);
  for (const ScenarioResults& scenario : results.scenarios) {
    const WayResults* const its = scenario.find(way);
    if (its == nullptr) continue;
    double all = 0;
    for (const auto& reason : reasons) {
      const auto wait = its->wait(reason);
      all += wait ? wait->mean : 0;
    }
    for (std::size_t i = 0; i < reasons.size() && all > 0; ++i) {
      const auto wait = its->wait(reasons[i]);
      sums[i] += wait ? wait->mean / all : 0;
    }
  }
  double all = 0;
  for (const double sum : sums) all += sum;
  for (double& sum : sums) sum = all > 0 ? 100 * sum / all : 0;
  return sums;
}

/// Reasons for which a job waited somewhere.
std::vector<std::string> reasons_in(const StudyResults& results) {
  std::set<std::string> reasons;
  for (const ScenarioResults& scenario : results.scenarios) {
    for (const WayResults& way : scenario.ways) {
      for (const StudyRun& run : way.runs) {
        for (const auto& [reason, wait] : run.waits) {
          if (wait > 0) reasons.insert(reason);
        }
      }
    }
  }
  return {reasons.begin(), reasons.end()};
}

/// The geometric mean over scenarios of ratio_of() a way to another; nothing without a scenario.
std::optional<double> ratio_over_all(const StudyResults& results, const std::string& way,
                                     const std::string& of, const StudyFigure& figure) {
  double sum = 0;
  int count = 0;
  for (const ScenarioResults& scenario : results.scenarios) {
    const auto ratio = ratio_of(scenario, way, {of}, figure);
    if (!ratio || !(ratio->value > 0) || std::isinf(ratio->value)) continue;
    sum += std::log(ratio->value);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

}  // namespace

std::string targets_table(const std::vector<Judged>& judged) {
  std::string text =
      "| target | of | bound | scenarios in which it holds | median | worst | |\n"
      "|---|---|---|---:|---:|---|---|\n";
  for (std::size_t i = 0; i < judged.size();) {
    const std::size_t ways = judged[i].target.ways.size();
    const auto its = std::span(judged).subspan(i, ways);
    if (ways > kMostRows) {
      text += target_row(together(its));
    } else {
      for (const Judged& one : its) text += target_row(one);
    }
    i += ways;
  }
  return text;
}

std::string scorecards(const std::vector<Judged>& judged) {
  std::vector<std::pair<std::string, std::string>> names;  // of tables, and their ways
  for (const Judged& one : judged) {
    const std::pair name(one.target.table, one.way);
    const bool is_new = std::ranges::find(names, name) == names.end();
    if (is_new && !one.target.table.empty() && !one.verdicts.empty()) names.push_back(name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [table, way] = names[i];
    if (i == 0 || names[i - 1].first != table) text += "\n### " + table + "\n";
    std::vector<const Judged*> columns;
    for (const Judged& one : judged) {
      if (one.target.table == table && one.way == way) columns.push_back(&one);
    }
    text += scorecard(columns);
  }
  return text;
}

std::string losses_table(const std::vector<Balance>& balances) {
  std::string text =
      "| figure | scenarios | best | within 10 % | worse | clear | most often to |\n"
      "|---|---:|---:|---:|---:|---:|---|\n";
  for (const Balance& balance : balances) {
    const auto clear = std::ranges::count_if(balance.losses, &Loss::is_clear);
    text +=
        "|" + counts_of(balance) + cell(std::to_string(clear)) + cell(winner_of(balance)) + "\n";
  }
  return text;
}

std::string causes_table(const StudyResults& results) {
  const auto reasons = reasons_in(results);
  std::string text = "| % of the wait |";
  for (const std::string& reason : reasons) text += cell(reason);
  text += "\n|---|";
  for (std::size_t i = 0; i < reasons.size(); ++i) text += "---:|";
  text += "\n";
  for (const std::string_view way : kWaysOfCauses) {
    const auto shares = reasons_of(results, way, reasons);
    if (std::ranges::all_of(shares, [](double share) { return share == 0; })) continue;
    text += "|" + cell(std::string(way));
    for (const double share : shares) text += cell(number(share));
    text += "\n";
  }
  return text;
}

std::string parts_table(const StudyDocument& document, const std::string& of,
                        const std::string& set) {
  std::string text = "|  |";
  for (const std::string_view key : kShownOfParts) {
    text += cell(std::string(find_figure(key)->head));
  }
  text += "\n" + rule(kShownOfParts.size());
  for (const std::string& way : ways_in(document.plan, set, of)) {
    text += "|" + cell(way);
    for (const std::string_view key : kShownOfParts) {
      const auto ratio = ratio_over_all(document.results, way, of, *find_figure(key));
      text += cell(ratio ? number(*ratio) : "-");
    }
    text += "\n";
  }
  return text;
}

}  // namespace berth::lab
