#include "daemon/attempts/descent.hpp"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <variant>

#include "daemon/loop/processes.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

/// The entries of a folder that are numbers; none if it cannot be read.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    pid_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == name.data() + name.size();
    if (is_number) numbers.push_back(number);
  }
  return numbers;
}

/// Each thread of a process has the children that it made.
std::vector<shim::Stat> children_of(pid_t parent) {
  std::vector<shim::Stat> children;
  const std::string threads = "/proc/" + std::to_string(parent) + "/task";
  for (const pid_t thread : numbers_in(threads)) {
    std::ifstream list(threads + "/" + std::to_string(thread) + "/children");
    for (pid_t pid = 0; list >> pid;) {
      const auto stat = shim::stat_of(pid);
      // Else it ended since, and its number may be another's.
      const bool is_still = stat && stat->parent == parent;
      if (is_still && !shim::is_helper(*stat, parent)) children.push_back(*stat);
    }
  }
  return children;
}

}  // namespace

std::optional<std::vector<shim::Process>> listed_below(pid_t top) {
  if (::access("/proc/thread-self/children", F_OK) != 0) return std::nullopt;
  std::vector<shim::Process> found;
  std::vector<pid_t> parents = {top};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const shim::Stat& child : children_of(parent)) {
      if (!shim::has_exited(child)) found.push_back({child.pid, child.start});
      parents.push_back(child.pid);
    }
  }
  return found;
}

std::vector<shim::Process> found_below(pid_t top) {
  const Shims shims{{top, JobId(0)}};
  Kinship kinship(shims);
  std::vector<shim::Process> found;
  for (const pid_t pid : numbers_in("/proc")) {
    const auto stat = shim::stat_of(pid);
    if (pid == top || !stat || shim::has_exited(*stat) || shim::is_helper(*stat, top)) continue;
    if (std::holds_alternative<OfJob>(kinship.of(pid))) found.push_back({pid, stat->start});
  }
  return found;
}

std::vector<shim::Process> processes_below(pid_t top) {
  auto listed = listed_below(top);
  return listed ? std::move(*listed) : found_below(top);
}

}  // namespace berth::daemon
