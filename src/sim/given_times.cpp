#include "sim/given_times.hpp"

#include <algorithm>

#include "core/base/wide.hpp"
#include "sim/heading.hpp"
#include "trace/csv.hpp"

namespace berth::sim {

namespace {

/// `give(job, time)` for every job that is named, `none(job)` for every other one.
template <class Give, class None>
Unmatched match(trace::Trace& trace, const JobTimes& times, Give give, None none) {
  Unmatched unmatched;
  std::map<std::string_view, bool> named;
  for (const auto& [name, time] : times) named.emplace(name, false);
  for (trace::TraceJob& job : trace.jobs) {
    const auto found = times.find(job.name);
    if (found == times.end()) {
      ++unmatched.jobs;
      none(job);
    } else {
      named[found->first] = true;
      give(job, found->second);
    }
  }
  unmatched.names = static_cast<std::size_t>(
      std::ranges::count_if(named, [](const auto& name) { return !name.second; }));
  return unmatched;
}

}  // namespace

Expected<JobTimes> read_job_times(std::string_view text, std::string_view file) {
  auto csv = trace::Csv::open(text, file, {.header = {"job", "seconds"}});
  if (!csv) return std::unexpected(csv.error());
  JobTimes times;
  for (bool is_first = true;; is_first = false) {
    const auto row = csv->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return times;
    if (is_first && is_heading(csv->field(1))) continue;  // a header
    const auto time = csv->duration(1);
    if (!time) return std::unexpected(time.error());
    if (*time == Duration(0)) return std::unexpected(csv->error(1, "seconds above 0"));
    if (!times.emplace(csv->field(0), *time).second) {
      return std::unexpected(csv->error(0, "every job once"));
    }
  }
}

Unmatched give_limits(trace::Trace& trace, const JobTimes& limits) {
  return match(
      trace, limits, [](trace::TraceJob& job, Duration time) { job.spec.time_limit = time; },
      [](trace::TraceJob&) {});
}

Unmatched give_estimates(trace::Trace& trace, const JobTimes& estimates) {
  return match(
      trace, estimates, [](trace::TraceJob& job, Duration time) { job.spec.estimate = time; },
      [](trace::TraceJob& job) { job.spec.estimate = kForever; });
}

void limit_by_run_time(trace::Trace& trace, std::int64_t thousandths) {
  for (trace::TraceJob& job : trace.jobs) {
    const berth::Wide limit = berth::Wide{micros(job.duration)} * thousandths / 1000;
    job.spec.time_limit = Duration(std::max<std::int64_t>(1, static_cast<std::int64_t>(limit)));
  }
}

}  // namespace berth::sim
