// When the jobs of a trace are submitted: at their time, or once the jobs that they come after have
// ended.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "sim/dependencies.hpp"
#include "sim/options.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// Jobs are indices in the trace.
class Arrivals {
 public:
  /// Requires: both outlive it.
  Arrivals(const trace::Trace& trace, const Options& options)
      : trace_(trace),
        options_(options),
        dependencies_(options.dependencies ? trace : trace::Trace{}) {}

  /// kNever if none is to come, as far as it is known.
  Instant next() const;
  /// The next one whose time has come, those that had to wait first. Requires: all before `now`
  /// were taken.
  std::optional<std::size_t> take(Instant now);
  /// Frees those that come after this job, which is over.
  void on_over(std::size_t job, Instant now);

 private:
  const trace::Trace& trace_;
  const Options& options_;
  Dependencies dependencies_;
  std::size_t arrived_ = 0;  ///< Whose own time has come.
  std::set<std::pair<Instant, std::size_t>> late_;
};

}  // namespace berth::sim
