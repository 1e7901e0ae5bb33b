// What follows from the figures: targets met or missed, and where the default does not help.
// Pure functions of results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"

namespace berth::lab {

/// A target in one scenario.
struct Verdict {
  std::string scenario;
  std::string figure;  ///< Key of the figure that is furthest from the target.
  double value = 0;    ///< Of it; a ratio for a target over other ways. Infinite over a 0.
  bool met = false;
};

struct Judged {
  Target target;
  std::size_t met = 0;
  std::size_t need = 0;
  std::vector<Verdict> verdicts;  ///< In the order of scenarios; those that know all the figures.

  /// False also if there was nothing to judge.
  bool is_met() const { return !verdicts.empty() && met >= need; }
  /// The furthest from the target. Requires: there are verdicts.
  const Verdict& worst() const;
};

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
