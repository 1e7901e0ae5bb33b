// The study for readers: evaluation.md, its tables and its drawings. Pure functions of the results
// and of the plan.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/study/findings.hpp"
#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"

namespace berth::lab {

struct StudyDocument {
  StudyPlan plan;  ///< Its targets and words; results may have fewer scenarios.
  StudyResults results;
  std::string text;  ///< Markdown written by hand, with `{{...}}` for what is filled in.
  std::string live;  ///< Markdown: live against simulated. "": not run.
  std::string made;  ///< Day and machine.
};

/// The ways that are judged: the default where jobs can be suspended, and where not; each against a
/// set of ways (study.toml).
struct JudgedWay {
  const char* name;
  const char* rivals;
};
inline constexpr JudgedWay kJudgedWays[] = {{"turns", "rivals"}, {"headroom", "plain"}};

/// Names of the ways of a set, in the plan's order, without this one.
std::vector<std::string> ways_in(const StudyPlan& plan, std::string_view set,
                                 std::string_view but = "");

/// `0.31` or `1.2 +-0.1`; `-` for nothing.
std::string shown(const StudyFigure& figure, const std::optional<sim::Interval>& interval);

/// evaluation.md. In the text,
///   `{{SCENARIO WAY FIGURE}}` is a mean,
///   `{{SCENARIO WAY FIGURE over SET}}` a ratio_of() to the ways of a set or to a way,
///   `{{drawing NAME}}`, `{{targets}}`, `{{parts WAY SET}}`, `{{causes}}`, `{{live}}` are these,
///   `{{made}}`, `{{runs}}`, `{{scenarios}}`, `{{size}}` words.
/// What was not run is `not run`. Errors: BadData for anything else in such braces.
Expected<std::string> written(const StudyDocument& document);

/// Every way, every target scenario by scenario, and every figure: evaluation/tables.md.
std::string tables(const StudyDocument& document);

/// The plan's drawings as SVG, by name; without those that have nothing to show.
std::vector<std::pair<std::string, std::string>> drawings(const StudyDocument& document);

/// Sections, as tables.
std::string targets_table(const std::vector<Judged>& judged);
/// A table of scenarios for each name that targets have for one.
std::string scorecards(const std::vector<Judged>& judged);
std::string losses_table(const std::vector<Balance>& balances);
std::string causes_table(const StudyResults& results);
std::string parts_table(const StudyDocument& document, const std::string& of,
                        const std::string& set);

}  // namespace berth::lab
