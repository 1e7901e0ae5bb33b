// Suspensions on this machine: which jobs are suspended, what is under way, and what becomes of it.
//
// The work itself is done by helpers (suspend_helpers.hpp). A suspension that fails is undone: the
// job goes on. One that cannot be undone is the end of the job, and so is a job that can neither go
// on nor be suspended again. The next daemon goes on after a crash at any point, by files
// (suspend_files.hpp).
//
// Belongs to the engine's thread, and never makes it wait. Hooks are never called from within a
// call.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/suspend/suspend_files.hpp"
#include "daemon/suspend/suspend_helpers.hpp"

namespace berth::daemon {

struct SuspenderHooks {
  /// Before suspended(): its own process held no GPU memory, whether one below it did or not.
  std::function<void(JobId, Attempt)> rooted = {};
  std::function<void(JobId, Attempt, const std::string& note)> suspended;
  /// It runs as before.
  std::function<void(JobId, Attempt, const std::string& why, Duration again)> suspend_failed;
  std::function<void(JobId, Attempt)> resumed;
  /// It is suspended as before.
  std::function<void(JobId, Attempt, const std::string& why)> resume_failed;
  /// Its processes are in no state to go on: they must be ended.
  std::function<void(JobId, Attempt, const std::string& why)> broken;
};

struct SuspenderOptions {
  std::string folder;  ///< Of the files, one for each job that is suspended.
  std::string cuda;    ///< Library.
  std::string nvml;    ///< Library.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Of the helpers.
  Bytes room{0};                                                 ///< Host memory for all of them.
  Duration patience = seconds(30);  ///< For one call of the driver, beside the time for its bytes.
};

/// One attempt, and where it is.
struct SuspendTarget {
  JobId job;
  Attempt attempt;
  pid_t shim = 0;
  std::string cgroup;             ///< "": none.
  std::vector<std::string> gpus;  ///< That it has, or is to have; by UUID.
};

class Suspender {
 public:
  Suspender(Loop& loop, SuspenderOptions options, SuspenderHooks hooks);

  /// suspended() follows, or suspend_failed(), or broken(). One after the other.
  void suspend(const SuspendTarget& target);
  /// resumed() follows, or resume_failed(), or broken(). Requires: knows(target.job).
  void resume(const SuspendTarget& target);
  /// True from before a job is suspended until it runs again or is forgotten.
  bool knows(JobId job) const { return entries_.contains(job); }
  /// GPU memory of a job that is in host memory now; 0 for others.
  Bytes bytes_of(JobId job) const;
  Bytes used() const;
  Bytes room() const { return options_.room; }
  /// For a job that is being ended: what is under way stops, and its processes can take signals.
  void forget(JobId job);

 private:
  enum class Phase { Waiting, Suspending, PuttingBack, Suspended, Resuming, PuttingDown };
  struct Entry {
    SuspendTarget target;
    Phase phase = Phase::Suspended;
    std::vector<Holder> holders;
    std::string why;             ///< What failed, while that is being undone.
    Duration again = kForever;   ///< When it is worth another try.
    bool is_touched = false;     ///< Its processes may be in any state.
    bool has_begun = false;      ///< The helper has done something; else nothing is to be undone.
    bool suspends_then = false;  ///< As soon as it runs again.
    int idle_undos = 0;          ///< Helpers that were to undo it and came to nothing.
    std::chrono::steady_clock::time_point since;
  };

  bool write_down(const Entry& entry) const;
  void begin(Entry& entry, Phase phase);
  void begin_next();
  void on_question(JobId job, const Told& told);
  void on_silence(JobId job, const Told& told, const std::string& last);
  void note_progress(Entry& entry, const Told& told);
  void conclude(JobId job, const Told& told);
  void is_down(JobId job);
  void tell_if_rooted(const Entry& entry) const;
  void fail(JobId job, const std::string& why, Duration again);
  void drop(JobId job);
  Duration limit_of(const Entry& entry) const;

  Loop& loop_;
  SuspenderOptions options_;
  SuspenderHooks hooks_;
  std::map<JobId, Entry> entries_;
  std::deque<JobId> waiting_;  ///< For their suspension, in this order.
  SuspendFiles files_;
  SuspendHelpers helpers_;
};

}  // namespace berth::daemon
