#include "shim/program/helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace berth::shim {

namespace {

[[noreturn]] void work_for(const User& user, int end, const std::function<int()>& work) {
  prctl(PR_SET_DUMPABLE, 0);  // what it remembers of the shim is not for its user to read
  const int nothing = open("/dev/null", O_RDWR);  // the shim's own are those of the daemon
  const bool good = dup2(end, STDIN_FILENO) == STDIN_FILENO &&
                    dup2(nothing, STDOUT_FILENO) == STDOUT_FILENO &&
                    dup2(nothing, STDERR_FILENO) == STDERR_FILENO && close_range(3, ~0U, 0) == 0 &&
                    become(user).step == Step::None;
  _exit(good ? work() : Helper::kNotTheUser);
}

}  // namespace

Attempted<Helper> Helper::begin(const User& user, int end, const std::function<int()>& work) {
  // A fork whose end sends no signal; the shim has one thread, so there is nothing to prepare.
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
  if (pid == 0) work_for(user, end, work);
  if (pid < 0) return std::unexpected(Failure{Step::Fork, errno});
  return Helper(pid, Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
}

std::optional<int> Helper::wait_until(Clock::time_point end) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ended{.fd = pidfd_.number(), .events = POLLIN, .revents = 0};
    const int ready = poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) break;
    if (ready < 0 && errno == EINTR && left > 0) continue;
    kill();
    return std::nullopt;
  }
  int status = 0;
  if (waitpid(pid_, &status, __WALL | WNOHANG) != pid_ || !WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

void Helper::kill() const { syscall(SYS_pidfd_send_signal, pidfd_.number(), SIGKILL, nullptr, 0); }

}  // namespace berth::shim
