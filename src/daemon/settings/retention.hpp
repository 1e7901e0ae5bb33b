// How long what jobs leave is kept: records and logs by age, logs by their size in all and of each
// user, and environments as long as their job. doc/configuration.md, keep_jobs.
//
// Looks again and again; journal rows go in slices on the engine's thread (live/pruner.hpp), files
// are listed and removed on a thread of its own. Nothing of a job that has not ended is removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/driver_thread.hpp"
#include "daemon/loop/loop.hpp"
#include "live/pruner.hpp"

namespace berth::daemon {

struct RetentionRules {
  Duration jobs = kForever;  ///< Since their end: records and logs.
  Duration logs = kForever;  ///< Logs alone.
  Bytes logs_size{0};        ///< Of all logs together; 0: no limit.
  Bytes user_logs_size{0};   ///< Of those of one user, who is not in the next.
  std::map<UserId, Bytes> of_users = {};

  Bytes most_of(UserId user) const {
    const auto found = of_users.find(user);
    return found == of_users.end() ? user_logs_size : found->second;
  }
  bool bounds_users() const { return user_logs_size > Bytes(0) || !of_users.empty(); }

  bool operator==(const RetentionRules&) const = default;
};

/// A log's file.
struct LogFile {
  JobId job;
  Bytes size{0};                              ///< On the disk.
  Instant written;                            ///< Last, by the file system.
  std::optional<UserId> user = std::nullopt;  ///< Whose job it is, by the file's owner.
};

/// Which logs to remove, of jobs that have ended alone: those too old, and the oldest jobs' until
/// the rest of the user's and then the rest of all fits. `now` is wall time, as the files' is.
std::vector<JobId> needless_logs(std::vector<LogFile> files, const RetentionRules& rules,
                                 Instant now, const std::function<bool(JobId)>& has_ended);

class Retention {
 public:
  struct Parts {
    Loop& loop;
    live::Keeper& keeper;
    const Clock& clock;
    std::string logs;  ///< Folder.
    /// Removes a folder of a user's, as that user.
    std::function<void(const live::Pruner::OldSnapshot&)> remove_snapshot;
  };
  /// Requires: all of them outlive it.
  Retention(Parts parts, const RetentionRules& rules);

  void set(const RetentionRules& rules);
  /// What the logs took at the last look; nothing before the first.
  struct Used {
    std::size_t logs = 0;
    Bytes size{0};
  };
  const std::optional<Used>& used() const { return used_; }
  bool stop() { return thread_.stop(); }

 private:
  void begin();
  bool advance();
  void look_at_logs();
  void remove(const std::vector<JobId>& jobs);
  Duration pause() const;

  const Parts parts_;
  RetentionRules rules_;
  live::Pruner pruner_;
  std::optional<Used> used_;
  std::optional<std::uint64_t> finished_;  ///< Jobs, at the last pass.
  Loop::Alarm alarm_;
  DriverThread thread_;
};

}  // namespace berth::daemon
