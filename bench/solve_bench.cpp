// How long the programs of policies in rounds take to solve, by number of jobs: max-min fairness
// and least slowdown on three types of GPU, with speeds drawn between a fifth and twice that of the
// reference, four jobs to a GPU. Cold: no solution begins from another.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "core/base/rng.hpp"
#include "solve/solve.hpp"

namespace berth {
namespace {

constexpr std::int64_t kOne = 1'000'000;
constexpr std::uint32_t kTypes = 3;

/// That jobs run at most all the time, on the GPUs that there are.
std::vector<Row> rows_of(std::uint32_t jobs) {
  std::vector<Row> rows(kTypes);
  for (Row& type : rows) type.most = std::int64_t{jobs} * kOne / 4 / kTypes;
  for (std::uint32_t job = 0; job < jobs; ++job) {
    Row all_time{.terms = {}, .most = kOne};
    for (std::uint32_t type = 0; type < kTypes; ++type) {
      all_time.terms.push_back({kTypes * job + type, kOne});
      rows[type].terms.push_back({kTypes * job + type, kOne});
    }
    rows.push_back(std::move(all_time));
  }
  return rows;
}

std::vector<Term> speeds_of(std::uint32_t job, Rng& rng, int sign) {
  std::vector<Term> speeds;
  for (std::uint32_t type = 0; type < kTypes; ++type) {
    speeds.push_back({kTypes * job + type, sign * rng.between(kOne / 5, 2 * kOne)});
  }
  return speeds;
}

Question max_min(std::uint32_t jobs) {
  Rng rng(1);
  const std::uint32_t least = kTypes * jobs;
  LinearProgram program{.columns = least + 1, .rows = rows_of(jobs), .gain = {{least, kOne}}};
  for (std::uint32_t job = 0; job < jobs; ++job) {
    Row gets{.terms = speeds_of(job, rng, -1), .most = 0};
    gets.terms.push_back({least, kOne});
    program.rows.push_back(std::move(gets));
  }
  return {std::move(program)};
}

Question least_slowdown(std::uint32_t jobs) {
  Rng rng(1);
  LeastSlowdown program{.columns = kTypes * jobs, .rows = rows_of(jobs), .floors = {}};
  for (std::uint32_t job = 0; job < jobs; ++job) {
    const std::int64_t work = rng.between(60, 36'000);
    const std::int64_t before = rng.between(0, 36'000);
    program.floors.push_back({.terms = speeds_of(job, rng, 1),
                              .work = work,
                              .scale = before / 2 + 4 * work,
                              .before = before});
  }
  return {std::move(program)};
}

template <Question (*make)(std::uint32_t)>
void solve_cold(benchmark::State& state) {
  const Question question = make(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    const Answer answer = solve::answer(question);
    if (answer.values.empty()) state.SkipWithError("no answer");
    benchmark::DoNotOptimize(answer);
  }
}

BENCHMARK(solve_cold<max_min>)->Arg(100)->Arg(1'000)->Arg(5'000)->Unit(benchmark::kMillisecond);
BENCHMARK(solve_cold<least_slowdown>)
    ->Arg(100)
    ->Arg(1'000)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
