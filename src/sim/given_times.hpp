// Times of single jobs, given beside the trace: time limits and estimates of run time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// By the job's name in the trace.
using JobTimes = std::map<std::string, Duration, std::less<>>;

/// A CSV of two columns, jobs and seconds; a first line that has no number there is a header.
/// Errors: BadData naming file and line, also for a job that comes twice.
Expected<JobTimes> read_job_times(std::string_view text, std::string_view file);

/// The number of names of the file without a job, and of jobs that the file does not name.
struct Unmatched {
  std::size_t names = 0;
  std::size_t jobs = 0;
};

/// Those jobs get these time limits; the others keep what they have.
Unmatched give_limits(trace::Trace& trace, const JobTimes& limits);
/// Those jobs get these estimates; the others have none.
Unmatched give_estimates(trace::Trace& trace, const JobTimes& estimates);

/// Every job gets its run time times so many thousandths as its time limit. Requires: at most a
/// million of them.
void limit_by_run_time(trace::Trace& trace, std::int64_t thousandths);

}  // namespace berth::sim
