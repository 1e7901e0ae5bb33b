// One run or several beside each other as a page: one HTML file with its charts in it, no scripts,
// no network.
#pragma once

#include <span>
#include <string>

#include "core/cluster.hpp"
#include "sim/metrics.hpp"
#include "sim/report.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct PageRun {
  RunNames names;
  Metrics metrics;
  Result result;  ///< With its stretches.
};

/// Table, distributions of completion time and wait, GPUs, memory and queue over time, GPU-hours by
/// user; what ran where if there is one run of at most 128 GPUs and 4,000 stretches; trade-offs if
/// there are several runs. Requires: all runs are of this trace on this cluster.
std::string page(const trace::Trace& trace, const Cluster& cluster, std::span<const PageRun> runs);

}  // namespace berth::sim
