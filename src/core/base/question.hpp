// Questions that a policy asks of a solver, and the answers.
//
// A solver takes long and uses floating point numbers, so it never runs on the engine's thread: the
// policy asks, the shell has the question solved elsewhere, and the answer comes back as an input.
// All figures are integers, most of them in millionths, so a question is the same on every machine.
//
// A program often has many best solutions. Which of them is the answer must not depend on the
// solver, so it is the one in the middle: the analytic centre of the best solutions, which has the
// largest product of all distances to bounds that some best solution does not touch. It is unique,
// and interior-point codes, which published policies were run with, end near it. A matching is
// whole numbers, and has no middle.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

namespace berth {

/// `factor` millionths of a column.
struct Term {
  std::uint32_t column = 0;
  std::int64_t factor = 0;
  bool operator==(const Term&) const = default;
};
inline auto members(Term& v) { return std::tie(v.column, v.factor); }

/// The sum of the terms is at most this, in millionths.
struct Row {
  std::vector<Term> terms;
  std::int64_t most = 0;
  bool operator==(const Row&) const = default;
};
inline auto members(Row& v) { return std::tie(v.terms, v.most); }

/// Columns from zero up, within the rows, so that the gain is as large as can be.
struct LinearProgram {
  std::uint32_t columns = 0;
  std::vector<Row> rows;
  std::vector<Term> gain;
  bool operator==(const LinearProgram&) const = default;
};
inline auto members(LinearProgram& v) { return std::tie(v.columns, v.rows, v.gain); }

/// The sum of the terms is at least work / (scale x slowdown - before): what is left of a job must
/// be done by the time at which it is slowed down so much. The three are in one unit.
struct Floor {
  std::vector<Term> terms;
  std::int64_t work = 0;    ///< Above zero.
  std::int64_t scale = 1;   ///< Above zero.
  std::int64_t before = 0;  ///< From zero up.
  bool operator==(const Floor&) const = default;
};
inline auto members(Floor& v) { return std::tie(v.terms, v.work, v.scale, v.before); }

/// Columns from zero up, within the rows, so that the slowdown at which every floor is kept is as
/// small as can be.
struct LeastSlowdown {
  std::uint32_t columns = 0;
  std::vector<Row> rows;
  std::vector<Floor> floors;
  bool operator==(const LeastSlowdown&) const = default;
};
inline auto members(LeastSlowdown& v) { return std::tie(v.columns, v.rows, v.floors); }

/// Two nodes that may be paired.
struct Edge {
  std::uint32_t one = 0;
  std::uint32_t other = 0;
  std::int64_t weight = 0;  ///< From zero to kMost.
  static constexpr std::int64_t kMost = std::int64_t{1} << 60;
  bool operator==(const Edge&) const = default;
};
inline auto members(Edge& v) { return std::tie(v.one, v.other, v.weight); }

/// Pairs of nodes, each node in one at most, so that the weights of the pairs come to as much as
/// can be; how many nodes are in a pair does not count. An edge is a column, whose value is one if
/// it is a pair, else zero. Best solutions have no middle here: who prefers one of several says so
/// in the lower digits of the weights.
struct Matching {
  std::uint32_t nodes = 0;
  std::vector<Edge> edges;  ///< Of two nodes each, and at most one of any two.
  bool operator==(const Matching&) const = default;
};
inline auto members(Matching& v) { return std::tie(v.nodes, v.edges); }

struct Question {
  std::variant<LinearProgram, LeastSlowdown, Matching> what;

  bool operator==(const Question&) const = default;
  /// A hash of its contents, never 0: an answer cannot be taken for that of another question.
  /// O(size).
  std::uint64_t number() const;
  /// How many values an answer has.
  std::size_t columns() const;
};
inline auto members(Question& v) { return std::tie(v.what); }

struct Answer {
  std::uint64_t number = 0;          ///< Of its question.
  std::vector<std::int64_t> values;  ///< Of each column, in millionths; empty: it has no solution.
  bool operator==(const Answer&) const = default;
};
inline auto members(Answer& v) { return std::tie(v.number, v.values); }

/// The same answer for the same question, on any thread.
using Solve = std::function<Answer(const Question&)>;

}  // namespace berth
