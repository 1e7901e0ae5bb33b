// A run's results as text: the per-job file, the summary, the table for people.
#pragma once

#include <string>

#include "sim/metrics.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// CSV with the header `job_id,submit,start,end,wait,jct,gpus,preemptions,ooms`, by job id (as
/// numbers where all are numbers); seconds with at most six decimals; a rejected job has empty
/// times. With predictions also `predicted_start`, of jobs that waited and have one.
std::string jobs_csv(const trace::Trace& trace, const Result& result);

/// Names of what was run, for summaries.
struct RunNames {
  std::string trace;
  std::string cluster;
  std::string policy;
  std::string place;
  std::string label = policy;  ///< What it is called among others.
};

/// One JSON object; times in seconds.
std::string summary_json(const RunNames& names, const Metrics& metrics);

/// A few aligned lines.
std::string summary_table(const RunNames& names, const Metrics& metrics);

}  // namespace berth::sim
