// Why a job waits, in figures and in words. Reads a view; changes nothing.
#pragma once

#include <string>
#include <vector>

#include "core/view.hpp"

namespace berth {

/// One GPU that cannot take the job now.
struct Shortage {
  GpuId gpu;
  Why why = Why::Capacity;
  Bytes lacking{0};            ///< Memory short of the inequality; zero where memory suffices.
  std::vector<JobId> holders;  ///< Jobs with a berth there, ascending.
};

struct Explanation {
  Why why = Why::Fits;            ///< Fits: nothing is in the way but the policy's order.
  std::int64_t fitting = 0;       ///< GPUs that could take the job now.
  std::vector<Shortage> nearest;  ///< Those that lack least first; at most `most` of them.
  std::vector<JobId> behind;      ///< Jobs with a place kept, which this one must not delay.
  std::string text;               ///< One line: the thing, the value, the limit.
};

/// Requires: the view knows the job. Cost: O(GPUs + running jobs).
Explanation explain(const ClusterView& view, JobId job, std::size_t most = 4);

}  // namespace berth
