// What /proc says of a process. No other file system is asked.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::shim {

struct Stat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t flags = 0;
  std::uint64_t threads = 0;
  std::uint64_t start = 0;  ///< In clock ticks since boot.
  int exit_signal = 0;      ///< To its parent.
};

/// Nothing for text that is no such line.
std::optional<Stat> parse_stat(std::string_view text);
/// Nothing if there is no such process (that we may see). A zombie still has one.
std::optional<Stat> stat_of(pid_t pid);

/// The first `most` bytes of /proc/PID/NAME; "" if there is no such process.
std::string read_proc(pid_t pid, const char* name, std::size_t most);
/// The kernel's name of what a descriptor of a process is: `pipe:[4711]`, the path of a file. ""
/// where it is not told.
std::string name_of(pid_t pid, int descriptor);
/// Whether such a name may be of a file that can be read later: no pipe, no device, not deleted.
bool may_be_file(std::string_view name);

/// True while this signal was sent to a process and waits to be taken.
bool has_pending(pid_t pid, int signal);

/// True if a process has a handler for this signal, or holds it back so as to take it otherwise.
bool hears(pid_t pid, int signal);
/// True if a signal finds its handler in this process. One that was forked a moment ago has its
/// parent's handlers until it executes a program of its own, which the signal would end: it is left
/// alone while it may be about to.
bool takes(const Stat& stat, int signal);
/// True if it does nothing to a process.
bool ignores(pid_t pid, int signal);

/// True for a process that a shim made for itself, which is none of its job's. A job cannot make
/// one that looks so: with its parent's parent it gets that one's signal, and with a new one
/// SIGCHLD.
inline bool is_helper(const Stat& stat, pid_t shim) {
  return stat.parent == shim && stat.exit_signal == 0;
}

/// A process that only waits to be collected. A main thread that ended before the others looks the
/// same but for their number.
inline bool has_exited(const Stat& stat) {
  return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
}

}  // namespace berth::shim
