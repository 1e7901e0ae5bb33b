#include "shim/program/user.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

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

Attempted<Descriptor> open_output(const Order& order) {
  const bool changes = geteuid() == 0 && order.user != 0;
  std::vector<gid_t> own(changes ? static_cast<std::size_t>(getgroups(0, nullptr)) : 0);
  if (changes) {
    if (getgroups(static_cast<int>(own.size()), own.data()) < 0 ||
        setgroups(order.groups.size(), order.groups.data()) != 0) {
      return std::unexpected(Failure{Step::Groups, errno});
    }
    setfsgid(order.group);
    setfsuid(order.user);
  }
  const mode_t mask = umask(order.umask);
  const bool is_first = order.attempt == Attempt(1);
  const std::string path =
      order.output.starts_with('/') ? order.output : order.directory + "/" + order.output;
  Descriptor file(::open(
      path.c_str(),
      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (is_first ? O_TRUNC : 0),
      0666));
  const int error = errno;
  umask(mask);
  if (changes) {
    setfsuid(0);
    setfsgid(0);
    setgroups(own.size(), own.data());
  }
  if (!file.is_open()) return std::unexpected(Failure{Step::Output, error});
  return file;
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
