// A process of the user's that a shim makes for itself, for what may take as long as a file system
// of theirs likes, or for ever: the shim, which may be root's, only waits as long as it wants to.
//
// It is none of the job's. It ends without a signal, as no process of a job does whose parent is
// the shim, so waitpid(-1) passes it over and is_helper() tells it from the job's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "posix/descriptor.hpp"
#include "shim/program/failure.hpp"
#include "shim/program/io.hpp"
#include "shim/program/user.hpp"

namespace berth::shim {

class Helper {
 public:
  /// It becomes the user, works and exits with what that returns, with `end` as its standard input,
  /// /dev/null as its output and no other descriptor. One that cannot become the user exits with
  /// kNotTheUser.
  static Attempted<Helper> begin(const User& user, int end, const std::function<int()>& work);
  static constexpr int kNotTheUser = 255;

  /// Its exit code; nothing for one that was killed, or that did not end in time: it is killed
  /// then, and left to end once the kernel lets it.
  std::optional<int> wait_until(Clock::time_point end) const;
  void kill() const;

 private:
  Helper(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  Descriptor pidfd_;
};

}  // namespace berth::shim
