// Answers to the questions of policies (core/base/question.hpp).
//
// An answer is a function of its question alone; iterations bound the work, never the clock. Values
// are rounded to millionths. No state is shared, so any thread may call this.
#pragma once

#include "core/base/question.hpp"

namespace berth::solve {

/// Without values where the question has no best solution or names a column or node that it does
/// not have. About 20 factorizations of a sparse matrix of columns + rows (doc/benchmarks.md); for
/// a matching O(nodes^3) (solve/matching.hpp).
Answer answer(const Question& question);

}  // namespace berth::solve
