// The job of each process, by /proc.
//
// Every answer is of a moment ago; a pid is only acted on through a pidfd that was checked after it
// was opened. Nothing here reads what is in a process's memory (its environment, its command line):
// that waits for the process's memory lock, which its user can hold for as long as they like.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "gpu/probe.hpp"
#include "posix/descriptor.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

/// The shims that live, by pid.
using Shims = std::map<pid_t, JobId>;

/// The latest such table, for readers on other threads.
class ShimTable {
 public:
  void set(Shims shims) {
    auto next = std::make_shared<const Shims>(std::move(shims));
    const std::lock_guard lock(mutex_);
    shims_ = std::move(next);
  }
  std::shared_ptr<const Shims> get() const {
    const std::lock_guard lock(mutex_);
    return shims_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Shims> shims_ = std::make_shared<const Shims>();
};

/// Finds whose job's process tree processes are in, from parent to parent, however deep the tree
/// is. Lives for one look at the processes: what is above one is asked for once.
class Kinship {
 public:
  explicit Kinship(const Shims& shims) : shims_(shims) {}

  /// O(ancestors not seen yet) reads.
  Owner of(pid_t pid);

 private:
  std::optional<Owner> known(pid_t pid) const;

  const Shims& shims_;
  std::map<pid_t, Owner> seen_;
};

/// A pidfd of exactly this process. Errors: NotFound if it has ended (and the pid may be
/// another's).
Expected<Descriptor> open_process(const shim::Process& process);

/// Sends a signal to a process of ours. An ended process is no error.
void send_signal(const Descriptor& pidfd, int signal);
/// The same, with a value for who receives it.
void queue_signal(const Descriptor& pidfd, int signal, int value);

/// Reaps an ended child. Returns: how it ended, `exit status 2` or `signal 9`; "" for a process
/// that is not our child, or has not ended.
std::string reap(const Descriptor& pidfd);

/// How a list names a process: its command name (`python`), "" if it has ended. Its user chooses
/// it, so it is on one line: `?` stands for what would not be.
std::string process_name(pid_t pid);
/// The groups of a process, as /proc/PID/cgroup has them; "" if it has ended.
std::string process_cgroups(pid_t pid);
/// The user of a process; nothing if it has ended.
std::optional<uid_t> process_user(pid_t pid);
/// A path by which the process `pid` names a file of its own, as from here: of `/proc/7/root/s`, by
/// a process that knows itself as 7 in a container, `/proc/4711/root/s`. Any other as it is.
std::string path_from_here(const std::string& path, pid_t pid);
/// The user of this name in /etc/passwd, or of this number; nothing if there is none.
std::optional<uid_t> number_of_user(std::string_view name);
/// The group of this name in /etc/group, or of this number; nothing if there is none.
std::optional<gid_t> number_of_group(std::string_view name);
/// The users of a group of /etc/group, those too whose own group it is; nothing for a group that is
/// not there.
std::optional<std::vector<uid_t>> members_of_group(std::string_view name);
/// Account names out of /etc/passwd, looked up once a minute; a number where it has none. Directory
/// services are not asked: they can hang, and the engine's thread must not.
class UserNames {
 public:
  std::string of(uid_t user);

 private:
  struct Known {
    std::string name;
    std::chrono::steady_clock::time_point at;
  };
  std::map<uid_t, Known> names_;
};

}  // namespace berth::daemon
