// The plan of the study: ways to run a cluster, scenarios, and what is aimed at. All of it is data,
// lab/study/study.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth::lab {

/// A policy with its admission, as arguments of `berth sim`.
struct StudyWay {
  std::string name;
  std::string words;              ///< What it is, for readers.
  std::vector<std::string> sets;  ///< Scenarios name these.
  std::string arguments;
};

struct Scenario {
  std::string name;
  std::string words;
  std::string group;
  std::string make;   ///< The command that makes its trace, with `{seed}`; "": `trace` is a file.
  std::string trace;  ///< Its path, with `{seed}` if it is made.
  std::string arguments;             ///< Of `berth sim`: cluster, machine, estimates.
  std::vector<std::string> ways;     ///< Names, in the order of the table.
  std::vector<std::uint64_t> seeds;  ///< Not empty.
};

/// A bound on a way's figures in each of some scenarios.
struct Target {
  std::string name;
  std::string table;  ///< Of scenarios, in which it is a column; "": in none.
  std::string head;   ///< Of that column.
  std::vector<std::string> ways;
  std::vector<std::string> figures;  ///< Keys; the worst of them counts.
  std::vector<std::string> over;     ///< Against the best of these ways; empty: as it is.
  std::string over_words;            ///< What they are.
  std::optional<double> at_most;     ///< One of these two.
  std::optional<double> at_least;
  std::vector<std::string> groups;     ///< Of scenarios,
  std::vector<std::string> scenarios;  ///< or scenarios by name.
  std::size_t need = 0;                ///< In so many scenarios; 0: in all.
};

/// A chart: a figure of some ways, scenario by scenario.
struct Drawing {
  std::string name;  ///< Of its file.
  std::string words;
  std::string figure;             ///< Key.
  std::string y;                  ///< Of the axis.
  std::vector<std::string> over;  ///< Against the best of these ways; empty: as it is.
  bool is_log = false;
  std::optional<double> mark;  ///< A value to compare with.
  std::vector<std::string> scenarios;
  std::vector<std::string> columns;  ///< What they are called; as many, or none: by their names.
  std::vector<std::string> ways;
};

struct StudyPlan {
  std::string size;  ///< `quick` or `full`.
  std::vector<StudyWay> ways;
  std::vector<Scenario> scenarios;
  std::vector<Target> targets;
  std::vector<Drawing> drawings;
};

/// The plan of this size. A `[[grid]]` is a scenario for each choice of one value from each of its
/// axes, called by the names of the values. Targets and drawings name ways or sets of ways, targets
/// also scenarios by a pattern such as `*-unknown`. `{jobs}` is filled in, and `{shared}` with the
/// folder of public traces; scenarios that need that folder are left out if `shared` is "". Errors:
/// BadData naming the file and the table.
Expected<StudyPlan> read_plan(std::string_view text, std::string_view file, std::string_view size,
                              std::string_view shared);

/// The ways of these names, and those of sets of these names.
std::vector<std::string> ways_named(const std::vector<StudyWay>& ways,
                                    const std::vector<std::string>& names);

/// `text` with every `{name}` replaced.
std::string filled(std::string text, std::string_view name, std::string_view value);

}  // namespace berth::lab
