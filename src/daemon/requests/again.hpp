// Jobs that have ended, submitted again as they were: with their command, variables and requests,
// but without what they waited for. Of an array the tasks keep their numbers and their points.
//
// Reads the journal; belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// Which of the jobs.
enum class AgainOf : std::uint8_t { Ended, EndedNotWell };

class Again {
 public:
  /// Requires: `keeper` outlives it.
  Again(const live::Keeper& keeper, std::vector<JobId> jobs, AgainOf which)
      : keeper_(keeper), jobs_(std::move(jobs)), which_(which) {}

  /// Goes on for as long as `has_time()`, by one job at least. Returns: whether there is more.
  /// Errors: of the journal; InvalidArgument for jobs that were not submitted as one.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// Requires: advance() has returned false. Errors: Conflict where none of the jobs is one of
  /// those, or where they ran in a copy of the code, which is gone.
  Expected<live::Submission> take();

 private:
  Expected<void> look(JobId id);
  Expected<void> add(const journal::JobRow& row);

  const live::Keeper& keeper_;
  std::vector<JobId> jobs_;
  AgainOf which_;
  std::size_t at_ = 0;
  std::optional<journal::JobRow> first_ = {};
  std::vector<std::int64_t> tasks_ = {};
  std::vector<std::string> points_ = {};
};

}  // namespace berth::daemon
