// The sections of the document that are findings: targets, losses, causes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "lab/study/document.hpp"
#include "lab/study/text.hpp"

namespace berth::lab {

namespace {

std::string bound_of(const Target& target) {
  std::string text = target.at_most ? "<= " + number(*target.at_most)
                                    : ">= " + number(target.at_least.value_or(0));
  if (target.over.empty()) return text;
  text += target.over.size() == 1 ? " x " : " x the best of ";
  for (std::size_t i = 0; i < target.over.size(); ++i) {
    text += (i == 0 ? "" : ", ") + target.over[i];
  }
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
  std::string row = "|" + cell(judged.target.name) + cell(bound_of(judged.target));
  if (judged.verdicts.empty()) return row + " - | - | - | not measured |\n";
  const Verdict& worst = judged.worst();
  row += cell(std::to_string(judged.met) + " of " + std::to_string(judged.verdicts.size())) +
         cell(number(middle_of(judged))) + cell(number(worst.value) + " (" + worst.scenario + ")");
  if (judged.is_met()) return row + " met |\n";
  return row + " missed" +
         (judged.target.need > 0 ? ": needs " + std::to_string(judged.need) : "") + " |\n";
}

std::string cases_of(const Balance& balance) {
  std::string text;
  for (const Loss& loss : balance.losses) {
    text += (text.empty() ? "" : "; ") + loss.scenario + " " +
            (loss.best == 0 ? number(loss.mine) + " from 0" : number(loss.mine / loss.best)) +
            (loss.is_clear ? "* " : " ") + loss.best_way;
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
    {"fifo", "fifo-skip", "easy", "exclusive", "shards", "fair-share", "headroom"});
constexpr auto kLosers = std::to_array<std::string_view>(
    {"none", "free-memory", "declared", "carma", "shards", "headroom"});
constexpr auto kCounts =
    std::to_array<std::string_view>({"oom_admission", "oom_own", "oom_neighbour", "overruns",
                                     "failed_for_memory", "lost_gpu_hours"});

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

std::string waits_table(const StudyResults& results) {
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

bool lost_any(const WayResults& way) {
  return std::ranges::any_of(kCounts, [&](std::string_view key) {
    const auto count = way.figure(key);
    return count && count->mean > 0;
  });
}

std::string deaths_table(const StudyResults& results) {
  std::string text = "| scenario | way |";
  for (const std::string_view key : kCounts) text += cell(std::string(find_figure(key)->head));
  text += "\n|---|---|";
  for (std::size_t i = 0; i < kCounts.size(); ++i) text += "---:|";
  text += "\n";
  for (const ScenarioResults& scenario : results.scenarios) {
    for (const std::string_view way : kLosers) {
      const WayResults* const its = scenario.find(way);
      if (its == nullptr || !lost_any(*its)) continue;
      text += "|" + cell(scenario.name) + cell(std::string(way));
      for (const std::string_view key : kCounts) {
        text += cell(shown(*find_figure(key), its->figure(key)));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::string targets_section(const std::vector<Judged>& judged) {
  std::string text =
      "## Targets\n\nComputed from `evaluation.json`. Bounds such as `<= 0.33 x exclusive` "
      "compare the mean of a figure\nwith that of another way; if a target names several "
      "figures, the worst of them counts.\n\n"
      "| target for `headroom` | bound | scenarios in which it holds | median | worst | |\n"
      "|---|---|---:|---:|---|---|\n";
  for (const Judged& target : judged) text += target_row(target);
  return text;
}

std::string losses_section(const std::vector<Balance>& balances) {
  std::string text =
      "## Where it does not help\n\nEach figure of `headroom` is compared with the best of all "
      "other ways in each scenario, so `headroom` has\nto beat all of them at once. A way that "
      "ended fewer jobs takes part only in figures of losses. The cases are\nthose in which "
      "`headroom` is worse by more than 10 %, with its value over the best way's and the name of "
      "that\nway; * means that the 95 % interval of the difference, seed by seed, does not "
      "include 0.\n\n| figure | scenarios | best | within 10 % "
      "| worse | cases |\n|---|---:|---:|---:|---:|---|\n";
  for (const Balance& balance : balances) {
    text += "|" + counts_of(balance) + cell(cases_of(balance)) + "\n";
  }
  return text;
}

std::string losses_summary(const std::vector<Balance>& balances) {
  std::string text =
      "## Where it does not help\n\nEach figure of `headroom` is compared with the best of all "
      "other ways in each scenario, so `headroom` has\nto beat all of them at once. A way that "
      "ended fewer jobs takes part only in figures of losses. *Worse*: by more\nthan 10 %. "
      "*Clear*: the 95 % interval of the difference, seed by seed, does not include 0. *Most "
      "often to*: the\nway that is best in most of these scenarios, and in how many."
      "\n\n| figure | scenarios | best | within 10 % "
      "| worse | clear | most often to |\n|---|---:|---:|---:|---:|---:|---|\n";
  for (const Balance& balance : balances) {
    const auto clear = std::ranges::count_if(balance.losses, &Loss::is_clear);
    text +=
        "|" + counts_of(balance) + cell(std::to_string(clear)) + cell(winner_of(balance)) + "\n";
  }
  return text;
}

std::string causes_summary(const StudyResults& results) {
  return "## Causes of bad ordering and admission\n\nWhy jobs wait ([metrics.md](metrics.md)): the "
         "fraction of a way's waiting time, as the mean over scenarios. *Order*\nis the time in "
         "which there was room for the job, but jobs ahead of it had to go first.\n\n" +
         waits_table(results);
}

std::string causes_section(const StudyResults& results) {
  return causes_summary(results) +
         "\nAttempts that ran out of memory or were ended, by kind, and jobs that failed for good; "
         "means over seeds. *By\nadmission* counts attempts that stayed within their request "
         "while all other jobs on the GPU did, too. Ways that\nlost nothing are left out.\n\n" +
         deaths_table(results);
}

}  // namespace berth::lab
