#include "sim/dead_ends.hpp"

#include <string>

namespace berth::sim {

Error never_start(const trace::Trace& trace, const Result& result) {
  std::size_t left = 0;
  std::size_t first = 0;
  for (const JobResult& job : result.jobs) {
    const bool is_over = job.end != kNever || job.timed_out || job.memory.failed;
    if (is_over || !job.refused.empty()) continue;
    if (left++ == 0) first = job.job;
  }
  return {ErrorCode::Conflict,
          std::to_string(left) + " jobs never start; the first is job " + trace.jobs[first].name};
}

Error never_ends(const trace::Trace& trace, const JobResult& job) {
  return {ErrorCode::Conflict, "job " + trace.jobs[job.job].name + " was lost to faults " +
                                   std::to_string(job.faults) +
                                   " times and may never end; save its work with "
                                   "--checkpoint-every"};
}

Error gets_nowhere(const trace::Trace& trace, const Headway& headway, const Options& options) {
  std::string names;
  for (const std::size_t job : headway.latest()) {
    names += (names.empty() ? "" : ", ") + trace.jobs[job].name;
  }
  const bool is_kept = options.costs.can_suspend;
  const bool is_saved = options.costs.checkpoint != kForever;
  const char* const why =
      is_kept    ? "each start costs it as much time as it gets (--start-latency, --restart-cost)"
      : is_saved ? "it gets no further than its last checkpoint (--checkpoint-every)"
                 : "it begins again from nothing each time (--checkpoint-every never)";
  return {ErrorCode::Conflict,
          "the run never ends: jobs were preempted " + std::to_string(headway.stops_in_vain()) +
              " times in a row without progress, the latest were jobs " + names + ": " + why};
}

}  // namespace berth::sim
