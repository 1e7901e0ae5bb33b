#include "daemon/loop/helper.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "posix/error.hpp"

namespace berth::daemon {

Expected<Descriptor> helper_input(const std::string& text) {
  Descriptor memory(::memfd_create("berth-helper", MFD_CLOEXEC));
  if (!memory.is_open()) return io_error("memory for a helper");
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(memory.number(), rest.data(), rest.size());
    if (written < 0) return io_error("memory for a helper");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(memory.number(), 0, SEEK_SET);
  return memory;
}

Expected<HelperProcess> start_helper(
    std::string_view flag, const Descriptor& input,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("a pipe for a helper");
  HelperProcess made{.output = Descriptor(ends[0])};
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigfillset(&defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "berthd";
  std::string option(flag);
  std::array<char*, 3> arguments = {name.data(), option.data(), nullptr};
  std::vector<std::string> texts;
  for (const auto& [key, value] : variables)
    texts.push_back(std::string(key).append("=").append(value));
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  const int failed = ::posix_spawn(&made.pid, "/proc/self/exe", &actions, &attributes,
                                   arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    errno = failed;
    return io_error("a helper");
  }
  made.pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, made.pid, 0)));
  if (!made.pidfd.is_open()) return io_error("pidfd_open");
  return made;
}

}  // namespace berth::daemon
