// What /proc says of processes: whose they are, and which are left of a job whose shim died.
//
// Every answer is of a moment ago; a pid is only acted on through a pidfd that was checked after it
// was opened.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "core/ids.hpp"
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

struct Nobody {};    ///< There is no such process.
struct Stranger {};  ///< No job's.
using Whose = std::variant<JobId, Stranger, Nobody>;

/// Whose job's process tree a process is in. O(depth of the tree) reads.
Whose whose(pid_t pid, const Shims& shims);

/// A pidfd of exactly this process. Errors: NotFound if it has ended (and the pid may be
/// another's).
Expected<Descriptor> open_process(const shim::Process& process);

/// Sends a signal to a process of ours. One that has ended is no error.
void send_signal(const Descriptor& pidfd, int signal);

/// True while this signal was sent to a process and waits to be taken.
bool has_pending(pid_t pid, int signal);

/// Kills what is left of a job whose shim died: processes of its user that are in the session of
/// the job's own process, or carry its number and attempt and `mark` in their environment; `mark`
/// is a variable that no other daemon's jobs have. Returns: how many; call again until it is none.
/// O(processes of the machine).
int kill_left_behind(const shim::Record& record, const std::string& mark);

/// How a list names a process: its command name (`python`), "" if it has ended.
std::string process_name(pid_t pid);
/// Whose it is; nothing if it has ended.
std::optional<uid_t> process_user(pid_t pid);
/// The user of this name in /etc/passwd, or of this number; nothing if there is none.
std::optional<uid_t> number_of_user(std::string_view name);
/// Account names out of /etc/passwd, each looked up once; a number where it has none. Directory
/// services are not asked: they can hang, and the engine's thread must not.
class UserNames {
 public:
  std::string of(uid_t user);

 private:
  std::map<uid_t, std::string> names_;
};

}  // namespace berth::daemon
