// The figures of one job that ran to its end, of which all others are made. doc/metrics.md.
#pragma once

#include <algorithm>

#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// Seconds.
inline double jct_of(const trace::TraceJob& asked, const JobResult& job) {
  return in_seconds(job.end - asked.submit);
}
inline double wait_of(const trace::TraceJob& asked, const JobResult& job) {
  return in_seconds(job.end - asked.submit - job.spent.ran);
}
/// JCT over run time alone, which counts as kLeastRun at least; 1 at least.
inline double slowdown_of(const trace::TraceJob& asked, const JobResult& job) {
  return std::max(1.0, jct_of(asked, job) / std::max(kLeastRun, in_seconds(asked.duration)));
}

}  // namespace berth::sim
