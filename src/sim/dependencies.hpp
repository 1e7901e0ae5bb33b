// Jobs that come after others (TraceJob::after): none is submitted before those have ended.
#pragma once

#include <vector>

#include "trace/trace.hpp"

namespace berth::sim {

class Dependencies {
 public:
  /// Names that no job of the trace has are taken as ended long ago.
  explicit Dependencies(const trace::Trace& trace);

  bool is_free(std::size_t job) const { return open_[job] == 0; }
  /// It is over, however. Returns: the jobs that are free now, ascending.
  std::vector<std::size_t> end(std::size_t job);

 private:
  std::vector<std::size_t> open_;                    ///< By job: those that have not ended.
  std::vector<std::vector<std::size_t>> followers_;  ///< By job.
};

}  // namespace berth::sim
