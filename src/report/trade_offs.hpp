// What one policy gains against what it gives up, run by run.
#pragma once

#include <span>
#include <string>

#include "core/cluster.hpp"
#include "report/page.hpp"

namespace berth::sim {

/// A heading and charts, of the runs that ended the most jobs. Requires: the runs have their
/// stretches.
std::string trade_offs(const Cluster& cluster, std::span<const PageRun> runs);

/// GPU time without any tenant, as a part of all GPU time from the first start to the last end; 0
/// to 1. O(stretches x GPUs each).
double idle_share(const Cluster& cluster, const Result& result);

}  // namespace berth::sim
