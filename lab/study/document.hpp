// The study for readers: all tables, and doc/evaluation.md, which sums them up. Pure functions of
// the results and of the plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/study/findings.hpp"
#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"

namespace berth::lab {

struct StudyDocument {
  StudyPlan plan;  ///< Its targets and words; results may have fewer scenarios.
  StudyResults results;
  std::string reading;  ///< Markdown written by hand, with its own headings.
  std::string live;     ///< Markdown: live against simulated. "": not run.
  std::string made;     ///< Day and machine.
};

/// The way that is judged.
inline constexpr const char* kJudgedWay = "headroom";
/// The set of the ways that it is compared with, and that of its parts (study.toml).
inline constexpr const char* kRivals = "rivals";
inline constexpr const char* kParts = "parts";
/// The group of scenarios in which only the order of jobs differs.
inline constexpr const char* kOrders = "order";

/// Names of the ways of a set, in the plan's order, without the judged one.
std::vector<std::string> ways_in(const StudyPlan& plan, std::string_view set);

/// `0.31` or `1.2 +-0.1`; `-` for nothing.
std::string shown(const StudyFigure& figure, const std::optional<sim::Interval>& interval);

/// The means of ratios to the judged way over scenarios, as the exponential of the mean logarithm;
/// nothing without a scenario where both are above 0.
std::optional<double> ratio_to_judged(const StudyResults& results, std::string_view way,
                                      std::string_view figure);

/// The text with a mean for each `{{SCENARIO WAY FIGURE}}`, so that what is written by hand has the
/// figures of the results; `not run` for a scenario or way that these results lack. Errors: BadData
/// for anything else in such braces, an unknown figure included.
Expected<std::string> with_figures(const std::string& text, const StudyResults& results);

/// Every table of every scenario; evaluation.html is made of it.
std::string markdown(const StudyDocument& document);
/// What follows from the tables, and a row for each scenario: evaluation.md.
std::string summary(const StudyDocument& document);

/// Sections of both.
std::string targets_section(const std::vector<Judged>& judged);
std::string losses_section(const std::vector<Balance>& balances);
std::string causes_section(const StudyResults& results);
/// The same in short: how many losses instead of each, and without the attempts that were lost.
std::string losses_summary(const std::vector<Balance>& balances);
std::string causes_summary(const StudyResults& results);

}  // namespace berth::lab
