// Attempts that could not be started because of the machine, and the time of each next try.
//
// A job of which a start failed keeps its berth until the next try. Tries are a second apart at
// first, then ever longer, up to half a minute. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth::live {

/// Failed starts until a job is `failed`: about ten minutes of tries.
inline constexpr std::int32_t kMostFailedStarts = 24;

/// The time from the n-th failed start of a job to its next try.
Duration wait_after(std::int32_t failed);

/// `could not be started: WHY (try 3 of 24, the next 4 s later)`.
std::string failed_start_text(const std::string& why, std::int32_t failed, Duration wait);

class FailedStarts {
 public:
  void add(JobId job, Attempt attempt, Instant next) { waiting_[job] = {attempt, next}; }
  /// The jobs whose next try is due; they wait no more.
  std::vector<std::pair<JobId, Attempt>> take_due(Instant now);
  /// The attempt of this job if it waits for its next try; it waits no more.
  std::optional<Attempt> take(JobId job);
  /// When the first of them is due.
  std::optional<Instant> next() const;

 private:
  struct Waiting {
    Attempt attempt;
    Instant next;
  };
  std::map<JobId, Waiting> waiting_;
};

}  // namespace berth::live
