// A run's results as text: the per-job file, the summary, the table for people.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.hpp"
#include "report/groups.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// CSV by job id (as numbers where all are numbers); seconds with at most six decimals; a rejected
/// job has empty times. Columns: `job_id,submit,start,end,wait,jct,gpus,preemptions,ooms`, with
/// predictions `predicted_start` of jobs that waited and have one, then `user`, `outcome` (done,
/// timeout, oom or rejected), `run` (seconds with GPUs), and `placement`, the latest attempt's GPUs
/// by node, as `n0:0-3 n1:0`.
std::string jobs_csv(const trace::Trace& trace, const Cluster& cluster, const Result& result);

/// What a run was asked for beside its policy, so that it can be asked for again.
struct Provenance {
  std::string version;       ///< Of berth.
  std::string trace_sha256;  ///< Of the file; "" where it was not looked at.
  double load = 1;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::string>> options;  ///< Others that were given.
};

/// Names of what was run, for summaries.
struct RunNames {
  std::string trace;
  std::string cluster;
  std::string policy;
  std::string place;
  std::string label = policy;  ///< What it is called among others.
  Provenance how = {};
};

/// A run's figures by group; empty where they are not wanted.
struct Groups {
  std::vector<GroupFigures> users;
  std::vector<GroupFigures> sizes;
};

/// What was run and how: the first members of a summary.
nlohmann::ordered_json to_json(const RunNames& names);
/// One JSON object; times in seconds.
nlohmann::ordered_json summary_json(const RunNames& names, const Metrics& metrics,
                                    const Groups& groups);
/// Indented, with a newline; bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& json);

/// A few aligned lines.
std::string summary_table(const RunNames& names, const Metrics& metrics);

}  // namespace berth::sim
