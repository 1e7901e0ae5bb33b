// The helper processes of suspensions (suspend_helper.hpp): at most one for each job, each killed
// when it says nothing for as long as it is allowed.
//
// Belongs to the engine's thread, and never makes it wait. Hooks are never called from within a
// call.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/suspend/suspend_errand.hpp"

namespace berth::daemon {

class SuspendHelpers {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  struct Hooks {
    /// It has found the processes and touched none; go() or leave() follows.
    std::function<void(JobId, const Told&)> asks;
    /// It has ended; it is not there any more.
    std::function<void(JobId, const Told&)> ended;
    /// It was killed, because it said nothing for so long after its last line.
    std::function<void(JobId, const Told&, const std::string& last)> silent;
  };
  SuspendHelpers(Loop& loop, Variables environment, Hooks hooks);
  ~SuspendHelpers();  ///< Those at work are killed.

  /// Requires: the job has none. Errors: none was started.
  Expected<void> begin(const Errand& errand, Duration limit);
  /// Lets the one that asks go on, with as long a limit from here on.
  void go(JobId job, Duration limit);
  /// Kills the job's, if there is one, without waiting for its end: it may hang in the driver.
  void leave(JobId job);

 private:
  struct Helper;

  void on_output(JobId job);
  void on_exit(JobId job);
  void on_limit(JobId job);
  Helper* of(JobId job) const;

  Loop& loop_;
  const Variables environment_;
  const Hooks hooks_;
  std::map<JobId, std::unique_ptr<Helper>> at_work_;
  std::map<pid_t, std::unique_ptr<Helper>> left_behind_;  ///< Killed, not yet gone.
};

/// Asks the driver in a helper of its own, for at most so long. Returns: its version. Errors: why
/// there are no checkpoints.
Expected<int> probe_checkpoints(const SuspendHelpers::Variables& environment,
                                const std::string& cuda, Duration most);

}  // namespace berth::daemon
