// One run or several beside each other as a page: one HTML file with its charts in it, no scripts,
// no network.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "report/metrics.hpp"
#include "report/report.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct PageRun {
  RunNames names;
  Metrics metrics;
  Result result;  ///< With its stretches.
  Groups groups = {};
  /// Of every seed; the first is this one.
  std::vector<Metrics> seeds = {};
};

/// Of the run that ended the most jobs. One that did not end as many leaves out the hardest: it is
/// best in nothing.
std::size_t most_ended(std::span<const PageRun> runs);
/// The first that ended as many. Requires: there are runs.
const PageRun& fullest(std::span<const PageRun> runs);

/// The row of a table for what its figures can be at the least.
inline constexpr const char* kBoundRow = "no schedule can be below";

/// What was run and how, figures, distributions, waits, use over time, users and sizes; for one run
/// what ran where, if that is 128 GPUs and 4,000 stretches at most, for several their trade-offs.
/// Charts that say nothing are left out, and named.
/// Requires: all runs are of this trace on this cluster.
std::string page(const trace::Trace& trace, const Cluster& cluster, std::span<const PageRun> runs);

}  // namespace berth::sim
