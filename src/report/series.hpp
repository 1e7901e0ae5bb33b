// A run over time, and its distributions: what reports draw.
#pragma once

#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "report/chart.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// Means over equal parts of the run, from its first submission to its last end.
struct Series {
  std::vector<Point> busy_gpus;     ///< Hours, GPUs with a tenant.
  std::vector<Point> held_memory;   ///< Hours, percent of all GPU memory that jobs were granted.
  std::vector<Point> waiting_jobs;  ///< Hours, jobs.
};

/// Requires: the result has its stretches. O(stretches x GPUs each + parts).
Series series_of(const trace::Trace& trace, const Cluster& cluster, const Result& result,
                 std::size_t parts = 400);

/// Cumulative share of jobs in percent against minutes, for jobs that ran to their end; at most
/// `points` points. Waits count as a second at least, which a logarithmic axis can show, and the
/// line of them begins at 0 %.
std::vector<Point> jct_distribution(const trace::Trace& trace, const Result& result,
                                    std::size_t points = 400);
std::vector<Point> wait_distribution(const trace::Trace& trace, const Result& result,
                                     std::size_t points = 400);

/// GPU-hours by user, most first; at most `most`, the rest together.
std::vector<Bar> shares_by_user(const trace::Trace& trace, const Result& result,
                                std::size_t most = 12);

}  // namespace berth::sim
