#include "shim/program/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "posix/descriptor.hpp"

namespace berth::shim {

namespace {

/// The process that a folder of /proc is about; 0 for other folders.
pid_t process_named(std::string_view folder) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(folder.data(), folder.data() + folder.size(), pid);
  return error == std::errc() && end == folder.data() + folder.size() ? pid : 0;
}

std::vector<Stat> all_processes() {
  std::vector<Stat> all;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return all;
  while (const dirent* const entry = readdir(folder)) {
    const pid_t pid = process_named(entry->d_name);
    if (pid == 0) continue;
    if (const auto stat = stat_of(pid)) all.push_back(*stat);
  }
  closedir(folder);
  return all;
}

/// A process that is killed once it is in the middle of its end gets no signal any more.
bool is_ending(const Stat& stat) {
  constexpr std::uint64_t kExiting = 4;  // PF_EXITING, of the flags in /proc/PID/stat
  return (stat.flags & kExiting) != 0 || has_pending(stat.pid, SIGKILL);
}

}  // namespace

/// Since it was seen its number may have become another's; a pidfd that is looked at once it is
/// open stays the one's that it is.
void send_to(const Stat& seen, int signal) {
  const Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, seen.pid, 0)));
  if (!pidfd.is_open()) return;
  const auto now = stat_of(seen.pid);
  if (!now || now->start != seen.start) return;
  syscall(SYS_pidfd_send_signal, pidfd.number(), signal, nullptr, 0);
}

std::vector<Stat> live_descendants(pid_t shim) {
  std::vector<Stat> all = all_processes();
  std::ranges::sort(all, {}, &Stat::parent);
  std::vector<Stat> found;
  std::vector<pid_t> above = {shim};
  while (!above.empty()) {
    const pid_t parent = above.back();
    above.pop_back();
    for (const Stat& stat : std::ranges::equal_range(all, parent, {}, &Stat::parent)) {
      if (is_helper(stat, shim)) continue;
      above.push_back(stat.pid);
      if (!has_exited(stat) && stat.pid != getpid()) found.push_back(stat);
    }
  }
  return found;
}

std::vector<Stat> live_with_all_below(std::span<const Process> tops) {
  std::vector<Stat> all = all_processes();
  std::ranges::sort(all, {}, &Stat::parent);
  std::set<pid_t> met;
  std::vector<Stat> found;
  const auto meet = [&](const Stat& stat) {
    if (stat.pid != getpid() && met.insert(stat.pid).second) found.push_back(stat);
  };
  for (const Process& top : tops) {
    const auto is_it = [&](const Stat& stat) {
      return stat.pid == top.pid && stat.start == top.start;
    };
    const auto at = std::ranges::find_if(all, is_it);
    if (at != all.end()) meet(*at);
  }
  for (std::size_t next = 0; next < found.size(); ++next) {
    const pid_t parent = found[next].pid;
    for (const Stat& stat : std::ranges::equal_range(all, parent, {}, &Stat::parent)) meet(stat);
  }
  std::erase_if(found, [](const Stat& stat) { return has_exited(stat); });
  return found;
}

void ask_to_end(Tree tree) {
  if (tree.process > 0) {
    kill(-tree.process, SIGTERM);
    kill(-tree.process, SIGCONT);
  }
  for (const Stat& stat : live_descendants(tree.shim)) {
    if (tree.process > 0 && stat.group == tree.process) continue;  // told already
    send_to(stat, SIGTERM);
    send_to(stat, SIGCONT);
  }
}

namespace {
bool is_told(const Stat& stat, int signal, const std::set<pid_t>* groups) {
  return (groups == nullptr || groups->contains(stat.group)) && takes(stat, signal);
}
}  // namespace

bool any_takes(Tree tree, int signal, const std::set<pid_t>* groups) {
  return std::ranges::any_of(live_descendants(tree.shim),
                             [&](const Stat& stat) { return is_told(stat, signal, groups); });
}

bool any_hears(Tree tree, int signal) {
  return std::ranges::any_of(live_descendants(tree.shim),
                             [&](const Stat& stat) { return hears(stat.pid, signal); });
}

void tell(Tree tree, int signal, const std::set<pid_t>* groups) {
  for (const Stat& stat : live_descendants(tree.shim)) {
    if (!is_told(stat, signal, groups)) continue;
    send_to(stat, signal);
    send_to(stat, SIGCONT);
  }
}

bool signal_group(Tree tree, pid_t group, int signal) {
  bool is_there = false;
  for (const Stat& stat : live_descendants(tree.shim)) {
    if (stat.group != group) continue;
    send_to(stat, signal);
    is_there = true;
  }
  return is_there;
}

void signal_job(Tree tree, int signal) {
  if (tree.process == 0) return;
  // A process that was just made is not the leader of its group yet.
  if (kill(-tree.process, signal) != 0 && errno == ESRCH) kill(tree.process, signal);
}

namespace {

/// The children of this process, also those that ended, as the kernel lists them; the one that was
/// made last comes last. Nothing where it has no such list.
std::vector<pid_t> own_children() {
  const Descriptor file(open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  std::vector<pid_t> children;
  if (!file.is_open()) return children;
  std::string text;
  std::array<char, 16 * 1024> part;
  for (ssize_t got = 0; (got = read(file.number(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    pid_t pid = 0;
    const auto read = std::from_chars(at, end, pid);
    if (read.ec != std::errc()) break;
    children.push_back(pid);
    at = read.ptr + 1;
  }
  return children;
}

/// Sends a signal to every child that is not among these, and remembers it. The number of a child
/// is its own until it is collected, so there is nothing to look at first: a process that forks and
/// ends, and so becomes another child all the time, does not do so as fast as this. Returns: how
/// many there were.
std::size_t signal_new_children(std::set<pid_t>& known, int signal) {
  std::size_t fresh = 0;
  for (const pid_t pid : own_children()) {
    if (!known.insert(pid).second) continue;
    const auto stat = stat_of(pid);
    if (!stat || is_helper(*stat, getpid())) continue;
    kill(pid, signal);
    ++fresh;
  }
  return fresh;
}

/// One that is stopped makes no other. A signal that is on its way keeps a fork from being done.
void stop_all() {
  constexpr auto kMost = std::chrono::milliseconds(100);  // the next round of killing goes on
  constexpr int kQuiet = 3;
  const auto end = std::chrono::steady_clock::now() + kMost;
  std::set<pid_t> children;
  std::set<pid_t> stopped;
  for (int quiet = 0; quiet < kQuiet && std::chrono::steady_clock::now() < end; ++quiet) {
    while (signal_new_children(children, SIGSTOP) > 0) {
      if (std::chrono::steady_clock::now() >= end) return;
      quiet = 0;
    }
    for (const Stat& stat : live_descendants(getpid())) {
      if (stat.state == 'T' && stopped.contains(stat.pid)) continue;
      send_to(stat, SIGSTOP);
      if (stopped.insert(stat.pid).second) quiet = 0;
    }
  }
}

}  // namespace

void kill_all() {
  constexpr int kMostRounds = 100;  // what forks faster meets us again after a pause
  stop_all();
  std::set<pid_t> killed;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t before = killed.size();
    for (const Stat& stat : live_descendants(getpid())) {
      send_to(stat, SIGKILL);
      killed.insert(stat.pid);
    }
    if (killed.size() == before) return;
  }
}

int hanging() {
  const std::vector<Stat> left = live_descendants(getpid());
  const bool all = std::ranges::all_of(left, [](const Stat& stat) { return is_ending(stat); });
  return all ? static_cast<int>(left.size()) : 0;
}

}  // namespace berth::shim
