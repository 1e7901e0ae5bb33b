// The process `berthd --announce`: becomes a job's user and then a program.
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/notices/announcer.hpp"
#include "posix/descriptor.hpp"
#include "posix/keyring.hpp"

namespace berth::daemon {

namespace {

/// Whoever reads it is berthd: standard output is its pipe.
int give_up(const std::string& what) {
  const std::string line = what + ": " + std::strerror(errno) + "\n";
  return ::write(STDOUT_FILENO, line.data(), line.size()) < 0 ? 2 : 1;
}

bool become(const live::Credentials& user) {
  if (::geteuid() != 0) return true;
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
         ::setresgid(user.group, user.group, user.group) == 0 &&
         ::setresuid(user.user, user.user, user.user) == 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The new standard input. The memory that the order came in has the user's environment, which
/// the program may as well see.
bool take_input(const std::string& text) {
  const Descriptor memory(::memfd_create("berth-news", MFD_CLOEXEC));
  const bool is_there = memory.is_open() && ::write(memory.number(), text.data(), text.size()) ==
                                                static_cast<ssize_t>(text.size());
  return is_there && ::lseek(memory.number(), 0, SEEK_SET) == 0 &&
         ::dup2(memory.number(), STDIN_FILENO) == STDIN_FILENO;
}

}  // namespace

int announce() {
  std::string bytes;
  std::array<char, 16384> part;
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, part.data(), part.size())) > 0;) {
    bytes.append(part.data(), static_cast<std::size_t>(got));
  }
  auto message = decode_message(bytes);
  if (!message) return 2;
  if (!take_input(message->input)) return give_up("its message");
  if (::dup2(STDOUT_FILENO, STDERR_FILENO) < 0) return give_up("its output");
  if (::close_range(STDERR_FILENO + 1, ~0U, 0) != 0) return give_up("its descriptors");
  if (!become(message->as)) return give_up("cannot become uid " + std::to_string(message->as.user));
  join_own_session_keyring();
  ::alarm(micros(Announcer::kPatience) / 1'000'000 + 5);  // for one whose daemon is killed
  if (::chdir(message->directory.c_str()) != 0 && ::chdir("/") != 0) return give_up("/");
  const std::vector<char*> arguments = pointers_to(message->arguments);
  std::vector<char*> environment = pointers_to(message->environment);
  environ = environment.data();
  ::execvp(arguments.front(), arguments.data());
  return give_up(message->arguments.front());
}

}  // namespace berth::daemon
