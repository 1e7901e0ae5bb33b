#include "shim/program/user.hpp"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "posix/descriptor.hpp"

namespace berth::shim {

namespace {

constexpr int kPatience = 1000;  ///< Milliseconds.

[[noreturn]] void work_as(const User& user, const std::function<void()>& work) {
  prctl(PR_SET_DUMPABLE, 0);  // what it remembers of the shim is not for its user to read
  const bool good = close_range(3, ~0U, 0) == 0 && become(user).step == Step::None;
  if (good) work();
  _exit(good ? 0 : 1);
}

}  // namespace

User user_of(const Order& order) {
  return {.user = order.user, .group = order.group, .groups = order.groups};
}

Failure become(const User& user) {
  if (geteuid() != 0) return {};
  if (setgroups(user.groups.size(), user.groups.data()) != 0) return {Step::Groups, errno};
  if (setresgid(user.group, user.group, user.group) != 0) return {Step::Group, errno};
  if (setresuid(user.user, user.user, user.user) != 0) return {Step::User, errno};
  return {};
}

void do_as(const User& user, const std::function<void()>& work) {
  if (geteuid() != 0 || user.user == 0) return work();
  const pid_t child = fork();
  if (child == 0) work_as(user, work);
  if (child < 0) return;  // no room for a process: what must be ended is killed later
  const Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{.fd = pidfd.number(), .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, kPatience) <= 0) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace berth::shim
