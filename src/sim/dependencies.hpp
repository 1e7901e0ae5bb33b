// Jobs that come after others (TraceJob::after): a job is submitted when the others have ended and
// its think time (TraceJob::think) is over.
#pragma once

#include <vector>

#include "trace/trace.hpp"

namespace berth::sim {

class Dependencies {
 public:
  /// Names that no job of the trace has are taken as ended long ago.
  explicit Dependencies(const trace::Trace& trace);

  /// When it may be submitted as far as others go; kNever while that is not known.
  Instant free_at(std::size_t job) const { return open_[job] == 0 ? free_at_[job] : kNever; }
  /// Notes the end of a job. Returns: the jobs that now wait for no other, ascending.
  std::vector<std::size_t> end(std::size_t job, Instant now);

 private:
  std::vector<Duration> think_;                      ///< By job.
  std::vector<Instant> free_at_;                     ///< By job; of those without open ones.
  std::vector<std::size_t> open_;                    ///< By job: those that have not ended.
  std::vector<std::vector<std::size_t>> followers_;  ///< By job.
};

}  // namespace berth::sim
