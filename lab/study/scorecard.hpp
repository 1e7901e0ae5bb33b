// The figures by which the study compares ways (doc/metrics.md).
#pragma once

#include <span>
#include <string_view>

namespace berth::lab {

enum class Better { Less, More };

/// A figure of the scorecard (doc/metrics.md).
struct StudyFigure {
  std::string_view key;
  std::string_view at;    ///< Where a summary of `berth sim` has it, as a JSON pointer.
  std::string_view head;  ///< In tables.
  Better better;
  int digits;
  /// A difference that is less does not matter, in the figure's unit.
  double floor;
  bool judges = true;  ///< False for what says nothing of how good a way is.
  /// What it is divided by, as a JSON pointer; "": nothing.
  std::string_view per = "";

  /// What is added above and below in ratios: a wait of 2 s is not twice as bad as one of 1 s.
  double added() const { return head.ends_with(", s") ? floor : 0; }
};

std::span<const StudyFigure> study_figures();
/// Null if there is none.
const StudyFigure* find_figure(std::string_view key);

}  // namespace berth::lab
