// What the study found beside what was published, as a page.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fgd/published.hpp"

namespace berth::fgd {

/// Loads, in per cent, at which the figures are held against each other.
inline constexpr auto kLoads = std::to_array<std::size_t>({90, 95, 100, 110, 120, 130});

/// One figure: the mean over the seeds, ours and theirs.
struct Cell {
  double ours = 0;
  std::optional<double> theirs;  ///< Nothing if not all of these runs were published.
  double tolerance = 0;          ///< The larger of 0.3 points and three standard errors of theirs.
  bool is_inside() const;        ///< Nothing published is nothing missed.
};

enum class Measure : std::uint8_t { Allocated, Fragmented };

/// Of the seeds that `ours` has.
Cell cell_of(const Curves& ours, const Curves& theirs, const RunName& name, Measure measure,
             std::size_t load);

/// How many of the published figures, to 0.01 of a per cent, one run gives: both measures at every
/// load from 1 to 130 %.
struct Match {
  int equal = 0;
  int all = 0;
};
Match match_of(const Curve& ours, const Curve& theirs);

struct Findings {
  Curves ours;
  std::map<std::string, double> seconds;  ///< Processor time of one run, by placement.
};

/// Markdown: doc/results/fgd.md.
std::string report(const Findings& findings, const Curves& theirs);

}  // namespace berth::fgd
