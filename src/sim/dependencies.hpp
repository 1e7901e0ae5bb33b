// Jobs that come after others (TraceJob::after): none is submitted before those have ended, and its
// user has thought about that for a while (TraceJob::think).
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
  /// It is over, however. Returns: the jobs that wait for nobody else now, ascending.
  std::vector<std::size_t> end(std::size_t job, Instant now);

 private:
  std::vector<Duration> think_;                      ///< By job.
  std::vector<Instant> free_at_;                     ///< By job; of those without open ones.
  std::vector<std::size_t> open_;                    ///< By job: those that have not ended.
  std::vector<std::vector<std::size_t>> followers_;  ///< By job.
};

}  // namespace berth::sim
