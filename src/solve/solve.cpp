#include "solve/solve.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "solve/interior.hpp"
#include "solve/matching.hpp"

namespace berth::solve {

namespace {

constexpr double kMostValue = 1e12;  ///< So that it fits in millionths.

/// False if a term names a column beyond the last, or one is there twice.
bool are_sound(std::span<const Term> terms, std::uint32_t columns) {
  std::set<std::uint32_t> seen;
  return std::ranges::all_of(terms, [&](const Term& term) {
    return term.column < columns && seen.insert(term.column).second;
  });
}

bool are_sound(std::span<const Row> rows, std::uint32_t columns) {
  return std::ranges::all_of(rows, [&](const Row& row) { return are_sound(row.terms, columns); });
}

ConcaveRow concave(const Row& row) {
  ConcaveRow concave{.terms = row.terms, .constant = static_cast<double>(row.most) / kMillion};
  for (Term& term : concave.terms) term.factor = -term.factor;
  return concave;
}

std::optional<std::vector<double>> solve(const LinearProgram& asked) {
  if (!are_sound(asked.rows, asked.columns) || !are_sound(asked.gain, asked.columns)) return {};
  ConvexProgram program{.columns = asked.columns, .rows = {}, .gain = asked.gain};
  std::ranges::transform(asked.rows, std::back_inserter(program.rows), concave);
  return best_of(program);
}

double over(std::int64_t part, std::int64_t of) {
  return static_cast<double>(part) / static_cast<double>(of);
}

/// One more column is the slowdown, above that which some job has already.
std::optional<std::vector<double>> solve(const LeastSlowdown& asked) {
  const auto is_sound = [&](const Floor& floor) {
    return floor.work > 0 && floor.scale > 0 && floor.before >= 0 &&
           are_sound(floor.terms, asked.columns);
  };
  if (!are_sound(asked.rows, asked.columns) || !std::ranges::all_of(asked.floors, is_sound)) {
    return {};
  }
  double least = 0;
  for (const Floor& floor : asked.floors) least = std::max(least, over(floor.before, floor.scale));
  ConvexProgram program{.columns = asked.columns + 1, .rows = {}, .gain = {{asked.columns, -1}}};
  std::ranges::transform(asked.rows, std::back_inserter(program.rows), concave);
  for (const Floor& floor : asked.floors) {
    program.rows.push_back({.terms = floor.terms,
                            .work = over(floor.work, floor.scale),
                            .offset = least - over(floor.before, floor.scale)});
  }
  return best_of(program);
}

std::optional<std::vector<double>> solve(const Matching& asked) {
  const auto pairs = best_matching(asked);
  if (!pairs) return std::nullopt;
  return std::vector<double>(pairs->begin(), pairs->end());
}

}  // namespace

Answer answer(const Question& question) {
  Answer answer{.number = question.number(), .values = {}};
  if (question.columns() == 0) return answer;
  const auto values = std::visit([](const auto& what) { return solve(what); }, question.what);
  if (!values) return answer;
  for (std::size_t column = 0; column < question.columns(); ++column) {
    answer.values.push_back(std::llround(std::min((*values)[column], kMostValue) * kMillion));
  }
  return answer;
}

}  // namespace berth::solve
