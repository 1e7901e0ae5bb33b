// Shims: one spare that waits, one for each running attempt, and those of earlier daemons.
//
// Belongs to the engine's thread. Events of an attempt go through Hooks, never from within a call.
// At most one process ever runs an attempt, because its file is created exclusively.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "daemon/attempts/orphans.hpp"
#include "daemon/attempts/spares.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/loop/processes.hpp"
#include "live/ports.hpp"
#include "shim/order.hpp"

namespace berth::daemon {

/// The fate of an attempt.
struct Hooks {
  std::function<void(JobId, Attempt)> started;
  /// Its shim ended before anything of it ran.
  std::function<void(JobId, Attempt, const std::string& why)> failed;
  std::function<void(JobId, Attempt, const shim::Exit&, const std::string& note)> ended;
  /// Its shim died without telling how it ended; what could be found of its processes is gone, as
  /// the note says.
  std::function<void(JobId, Attempt, const std::string& note)> lost;
};

struct LauncherOptions {
  std::string shim;      ///< Path of berth-shim.
  std::string attempts;  ///< Folder of attempt files.
  std::string logs;      ///< Folder of logs, `JOB.log`.
  std::string cgroup;    ///< Folder of the attempts' cgroups; "" for none.
  std::string aside;     ///< Folder for files of jobs that the journal does not know.
  std::string mark;      ///< A variable that every job has in its environment, and no other does.
  rlimit files{RLIM_INFINITY, RLIM_INFINITY};  ///< How many a job may have open: RLIMIT_NOFILE.
};

/// The folder of an attempt's cgroup; "" where `parent` is.
std::string cgroup_path(const std::string& parent, JobId job, Attempt attempt);

/// Lets this process open as many files as it may: each connection is one, each follower of a log
/// two. Returns: the limit before. It is what jobs get: programs that use select() fail beyond it.
rlimit raise_file_limit();

/// The largest number of a job that any file in these folders has in its name.
JobId last_named(const std::vector<std::string>& folders);

/// What an attempt of a daemon before us has left.
struct AttemptLeft {
  bool lives = false;                  ///< A shim of its job's holds a file.
  std::optional<shim::Record> record;  ///< If its own file is there and can be read.
};
AttemptLeft look_for_attempt(const std::string& folder, JobId job, Attempt attempt);

/// A shim holds a lock on the file of its attempt, not on a copy of it: by a copied state it would
/// be taken for gone, and its job ended. Waits up to a second for one that is just ending. Errors:
/// Conflict naming the first shim that lives without its lock.
Expected<void> check_original(const std::string& folder);

class Launcher {
 public:
  static Expected<std::unique_ptr<Launcher>> open(Loop& loop, const LauncherOptions& options,
                                                  Hooks hooks);
  ~Launcher();  ///< Shims with an attempt go on; the spare ends.

  /// An attempt that was launched before is adopted, never launched twice.
  /// Errors: Io naming what failed: nothing of it runs.
  Expected<void> launch(const shim::Order& order);
  /// Takes over an attempt of a daemon before us, if there is one.
  live::Trace adopt(JobId job, Attempt attempt);
  /// Ends an attempt's process tree; `ended` follows. Unknown attempts are ignored.
  void stop(JobId job, Attempt attempt, live::Manner manner,
            shim::EndedFor why = shim::EndedFor::Unsaid);
  /// Sends a signal to the job's processes, by its shim; the first such call counts. Unknown
  /// attempts are ignored.
  void warn(JobId job, Attempt attempt, int signal);
  /// Tells its shim to connect to this client. Errors: NotFound for an attempt whose process is not
  /// there, Conflict where its shim does not know how, Io.
  Expected<void> attach(JobId job, Attempt attempt, const shim::Attach& client);
  /// The shim of an attempt whose job's process was reported to be there.
  std::optional<pid_t> shim_of(JobId job, Attempt attempt) const;
  /// The folder of its cgroup; "" for one that has none, or is ended otherwise.
  std::string cgroup_of(JobId job, Attempt attempt) const;
  /// The process of this attempt was started by hand, and is not below its shim.
  void is_outside(JobId job, Attempt attempt);
  /// Makes an attempt of the same job that lives this one. Errors: NotFound if there is none; Io.
  Expected<void> take_over(JobId job, Attempt attempt);
  /// Removes the files of an attempt that is over.
  void forget(JobId job, Attempt attempt);
  /// Removes files of attempts that are over, from before a crash. What belongs to jobs after
  /// `last` or to attempts beyond those that are known is moved to `aside`: a machine that stopped
  /// took them along, or the journal has lost them. What still runs is left. O(files). Returns:
  /// what was moved or left, a line each.
  std::vector<std::string> sweep(const live::StandingOf& standing_of, JobId last);

  /// The live shims, and processes that were adopted, for finding the job of a process.
  const ShimTable& shims() const { return shims_; }
  std::string log_path(JobId job) const;
  /// The end of what this attempt, or the one that it goes on with, wrote to the job's log.
  std::string last_words(JobId job, Attempt attempt) const;

 private:
  using Key = std::pair<JobId, Attempt>;
  struct Shim;
  struct Told {
    int signal = 0;
    std::chrono::steady_clock::time_point at;
    bool was_killed = false;
  };

  Launcher(Loop& loop, LauncherOptions options, Hooks hooks);
  std::string record_path(Key key) const;
  Expected<void> name_record(const Spare& spare, const shim::Order& order);
  Expected<void> name_log(Spare& spare, const shim::Order& order);
  std::string move_aside(const std::string& path, const std::string& why) const;
  static Expected<shim::Record> read_header(const std::string& path);
  Expected<shim::Record> read_record(Key key) const;
  Shim& keep(Key key, std::unique_ptr<Shim> shim);
  void watch(Key key, Shim& shim);
  void on_message(Key key);
  void on_exit(Key key);
  void see_off(std::unique_ptr<Shim> over);
  void dismiss(Spare spare);
  void end_deaf();
  void end_leftovers(Key key);
  void give_up(Key key);
  void tell_exit(Key key, bool has_go);
  void tell_end(Key key, const shim::Record& record);
  void tell_lost(const shim::Record& record, const std::string& note);
  void look_for_names();
  void look_for_go();
  void publish();

  Loop& loop_;
  LauncherOptions options_;
  Hooks hooks_;
  std::unique_ptr<Spares> spares_;
  std::map<Key, std::unique_ptr<Shim>> live_;
  std::map<pid_t, std::unique_ptr<Shim>> leaving_;  ///< Ended, not yet reaped.
  /// Held by a shim that has not identified itself; with the manner in which to stop it then.
  std::map<Key, std::optional<live::Manner>> unnamed_;
  std::map<Key, Told> told_;       ///< Orders to end; without those taken long ago.
  std::map<Key, Key> taken_over_;  ///< Being ended: the attempt it is now, by what it began as.
  std::set<Key> given_up_;         ///< Being ended, as they are now: the shim does not end.
  ShimTable shims_;
  std::chrono::steady_clock::time_point last_launch_;
  Loop::Alarm refill_alarm_;
  Loop::Alarm names_alarm_;
  Loop::Alarm go_alarm_;
  Loop::Alarm deaf_alarm_;
  Orphans orphans_;
};

}  // namespace berth::daemon
