// What follows from the figures: targets met or missed, and where the default does not help.
// Pure functions of results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"
#include "report/chart.hpp"

namespace berth::lab {

/// A target in one scenario.
struct Verdict {
  std::string scenario;
  std::string figure;  ///< Key of the figure that is furthest from the target.
  double value = 0;    ///< Of it, as ratio_of() has it. Infinite over a 0.
  bool met = false;
};

/// A target of one of its ways.
struct Judged {
  Target target;
  std::string way;
  std::size_t met = 0;
  std::size_t need = 0;
  std::vector<Verdict> verdicts;  ///< In the order of scenarios; those that know all the figures.

  /// False also if there was nothing to judge.
  bool is_met() const { return !verdicts.empty() && met >= need; }
  /// The furthest from the target. Requires: there are verdicts.
  const Verdict& worst() const;
};

/// A figure of a way in each run over that of the best of the others in it, the figure's `added`
/// above and below: the geometric mean, with its 95 % interval over the runs. As it is without
/// others: the arithmetic mean. 0 over 0 is 1. Nothing if a run lacks the figure.
std::optional<sim::Ranged> ratio_of(const ScenarioResults& scenario, std::string_view way,
                                    const std::vector<std::string>& over,
                                    const StudyFigure& figure);

std::vector<Judged> judge(const StudyPlan& plan, const StudyResults& results);

/// A figure in which a way is worse than the best of others.
struct Loss {
  std::string scenario;
  std::string figure;
  double mine = 0;
  double best = 0;
  std::string best_way;
  bool is_clear = false;  ///< The 95 % interval of the difference by seed does not reach 0.
};

/// How `way` compares with the best of its rivals, in one figure over all scenarios.
struct Balance {
  std::string figure;
  std::size_t scenarios = 0;
  std::size_t best = 0;    ///< As good as the best rival, or better.
  std::size_t within = 0;  ///< Worse by at most kWorse.
  std::vector<Loss> losses;
};

/// A loss is worse by more than this part, and by more than the figure's floor.
inline constexpr double kWorse = 0.10;

/// Rivals are ways that ended as many jobs as `way`, because one that loses its hardest jobs waits
/// less; for the figures that count lost jobs all of them are.
std::vector<Balance> balances(const StudyResults& results, std::string_view way,
                              const std::vector<std::string>& rivals);

}  // namespace berth::lab
