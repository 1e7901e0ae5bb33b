// A primal-dual interior-point method for convex programs with sparse rows, after Mehrotra (SIAM J.
// Optimization 2(4), 1992); see Wright, Primal-Dual Interior-Point Methods (1997).
//
// It ends on the central path, close to the analytic centre of the best solutions. The Newton
// system is kept whole, columns and rows: a row that names all columns, as that of the GPUs of a
// type does, and a column that is in all rows, as the least share, leave the rest sparse there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/question.hpp"

namespace berth::solve {

/// constant + terms - work / (column + offset) >= 0; the column is the last one, and a row that has
/// no work is straight.
struct ConcaveRow {
  std::vector<Term> terms;
  double constant = 0;
  double work = 0;
  double offset = 0;
};

/// Columns from zero up that keep to the rows, so that the gain is as large as can be.
struct ConvexProgram {
  std::uint32_t columns = 0;
  std::vector<ConcaveRow> rows;
  std::vector<Term> gain;
};

/// Nothing if there is no best solution, or none is found within kMostSteps. Requires: terms name
/// columns that there are, each once in a row.
std::optional<std::vector<double>> best_of(const ConvexProgram& program);

inline constexpr int kMostSteps = 100;
inline constexpr double kMillion = 1e6;

}  // namespace berth::solve
