// Submits as fast as a berthd answers, from many connections at once and with little work of its
// own: one thread, requests built before.
#pragma once

#include <string>
#include <vector>

#include "live/bed.hpp"

namespace berth::bench {

enum class Environments { Equal, Distinct };

struct LoadPlan {
  std::string socket;
  int connections = 32;
  int submits = 0;  ///< Of all connections together.
  int first = 1;    ///< The number of the first; distinct environments differ in theirs.
  Environments environments = Environments::Equal;
};

struct LoadResult {
  Seconds took{0};
  std::vector<double> latencies_ms;  ///< Of each request, from before its send to its answer.
};

/// Each connection has one request under way until all are answered. Errors: Io; Conflict for an
/// answer that is not 201.
Expected<LoadResult> submit_from_many(const LoadPlan& plan);

}  // namespace berth::bench
