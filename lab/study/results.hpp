// What the study measured: every figure of every run, with the commands that make it again.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "lab/study/scorecard.hpp"
#include "report/figures.hpp"

namespace berth::lab {

/// In the order in which it is written.
using StudyJson = nlohmann::ordered_json;

/// One run of `berth sim`.
struct StudyRun {
  std::uint64_t seed = 0;
  std::string make;     ///< The command that makes the trace; "" if that is a file.
  std::string command;  ///< To be run at the top of the repository, after `make`.
  std::map<std::string, double> figures;  ///< By key; what a run does not know is not there.
  std::map<std::string, double> waits;    ///< Mean seconds by reason, those above 0.
  std::string error;                      ///< Why there are no figures.
};

struct WayResults {
  std::string way;
  std::vector<StudyRun> runs;  ///< One of each seed.

  /// Nothing unless every run has it.
  std::optional<sim::Interval> figure(std::string_view key) const;
  /// A reason that a run does not have is 0 there.
  std::optional<sim::Interval> wait(std::string_view reason) const;
  /// This way's value less the other's, seed by seed. Requires: the same seeds.
  std::optional<sim::Interval> less(const WayResults& other, std::string_view key) const;
};

struct ScenarioResults {
  std::string name;
  std::string words;
  std::string group;
  std::vector<WayResults> ways;

  /// Null if it was not run.
  const WayResults* find(std::string_view way) const;
};

struct StudyResults {
  std::string size;
  std::vector<ScenarioResults> scenarios;

  const ScenarioResults* find(std::string_view scenario) const;
};

/// Reads the figures of a summary of `berth sim --json` into a run. Errors: BadData for a text that
/// is no summary.
Expected<void> read_summary(std::string_view json, StudyRun& run);

/// A value with the six digits that results keep, so that equal runs have equal values.
double kept(double value);

/// A scenario has the commands that make its traces, one for each seed, and each way its commands
/// and the values of each figure in the same order. Requires: every scenario has ways.
StudyJson to_json(const StudyResults& results);
/// Errors: BadData.
Expected<StudyResults> results_of(const StudyJson& json);

/// With a line for each member of what would be a long line, so that a difference can be read.
std::string json_lines(const StudyJson& json);

}  // namespace berth::lab
