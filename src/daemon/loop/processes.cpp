#include "daemon/loop/processes.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

std::string proc(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

/// At most `most` bytes of a file of /proc; nothing if it cannot be read.
std::optional<std::string> read_proc(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < most) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<Owner> Kinship::known(pid_t pid) const {
  if (const auto shim = shims_.find(pid); shim != shims_.end()) return OfJob{shim->second};
  if (const auto seen = seen_.find(pid); seen != seen_.end()) return seen->second;
  return std::nullopt;
}

/// A process that ends leaves its children to one further up and its number to others, which start
/// later than those children do.
Owner Kinship::of(pid_t pid) {
  std::vector<shim::Stat> path;  // from the process upwards
  if (const auto stat = shim::stat_of(pid)) path.push_back(*stat);
  std::optional<Owner> answer;
  while (!path.empty() && !(answer = known(path.back().pid))) {
    const shim::Stat at = path.back();
    const auto parent = at.parent > 1 ? shim::stat_of(at.parent) : std::nullopt;
    if (parent && parent->start <= at.start) {
      path.push_back(*parent);
      continue;
    }
    const auto again = at.parent > 1 ? shim::stat_of(at.pid) : at;
    if (!again || again->start != at.start) {
      path.pop_back();  // the one below has another parent now
    } else if (again->parent == at.parent) {
      answer = OfStranger{};  // at the top, or below one that cannot be seen
      break;
    } else {
      path.back() = *again;
    }
  }
  if (!answer) return OfNobody{};
  for (const shim::Stat& below : path) seen_[below.pid] = *answer;
  return *answer;
}

Expected<Descriptor> open_process(const shim::Process& process) {
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.is_open() || shim::start_of(process.pid) != process.start) {
    return fail(ErrorCode::NotFound, "process " + std::to_string(process.pid) + " has ended");
  }
  return pidfd;
}

void send_signal(const Descriptor& pidfd, int signal) {
  ::syscall(SYS_pidfd_send_signal, pidfd.number(), signal, nullptr, 0);
}

void queue_signal(const Descriptor& pidfd, int signal, int value) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = value;
  ::syscall(SYS_pidfd_send_signal, pidfd.number(), signal, &info, 0);
}

std::string reap(const Descriptor& pidfd) {
  siginfo_t info{};
  const int failed = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.number()),
                              &info, WEXITED | WNOHANG);
  if (failed != 0 || info.si_pid == 0) return "";
  return (info.si_code == CLD_EXITED ? "exit status " : "signal ") + std::to_string(info.si_status);
}

std::string process_name(pid_t pid) {
  auto name = read_proc(proc(pid, "comm"), 64);
  if (!name) return "";
  while (!name->empty() && name->back() == '\n') name->pop_back();
  std::ranges::replace_if(
      *name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return *name;
}

std::string process_cgroups(pid_t pid) {
  return read_proc(proc(pid, "cgroup"), 65'536).value_or("");
}

std::string path_from_here(const std::string& path, pid_t pid) {
  const std::string here = "/proc/" + std::to_string(pid) + "/";
  constexpr std::string_view kProcesses = "/proc/";
  if (pid <= 0 || !path.starts_with(kProcesses) || path.starts_with(here)) return path;
  // Its number in each namespace of processes, from ours to its own.
  const std::string status = read_proc(proc(pid, "status"), 4096).value_or("");
  const std::size_t line = status.find("\nNSpid:\t");
  if (line == std::string::npos) return path;
  const std::size_t end = status.find('\n', line + 1);
  const std::size_t own = status.rfind('\t', end) + 1;
  const std::string there = "/proc/" + status.substr(own, end - own) + "/";
  return path.starts_with(there) ? here + path.substr(there.size()) : path;
}

/// The real uid: the owner of /proc/PID is root for a process that may not be dumped.
std::optional<uid_t> process_user(pid_t pid) {
  const auto text = read_proc(proc(pid, "status"), 4096);
  if (!text) return std::nullopt;
  const std::size_t line = text->find("\nUid:\t");
  if (line == std::string::npos) return std::nullopt;
  uid_t user = 0;
  const char* const begin = text->data() + line + 6;
  if (std::from_chars(begin, text->data() + text->size(), user).ec != std::errc()) {
    return std::nullopt;
  }
  return user;
}

namespace {

/// Calls visit(entry) for every line of such a file, which `read` reads: fgetpwent_r or
/// fgetgrent_r, as several threads look for names.
template <class Entry, class Visit>
void for_each_entry(const char* path, int read(std::FILE*, Entry*, char*, std::size_t, Entry**),
                    Visit visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
  std::vector<char> line(1024);
  while (file != nullptr) {
    const long begin = std::ftell(file.get());
    Entry entry;
    Entry* found = nullptr;
    const int failed = read(file.get(), &entry, line.data(), line.size(), &found);
    if (failed == ERANGE) {  // a group of thousands has a long line
      line.resize(2 * line.size());
      std::fseek(file.get(), begin, SEEK_SET);
      continue;
    }
    if (failed != 0 || found == nullptr) return;
    visit(*found);
  }
}

template <class Visit>
void for_each_account(Visit visit) {
  for_each_entry<passwd>("/etc/passwd", ::fgetpwent_r, visit);
}

template <class Visit>
void for_each_group(Visit visit) {
  for_each_entry<group>("/etc/group", ::fgetgrent_r, visit);
}

}  // namespace

std::optional<uid_t> number_of_user(std::string_view name) {
  uid_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec == std::errc() && read.ptr == name.data() + name.size()) return number;
  std::optional<uid_t> found;
  for_each_account([&](const passwd& entry) {
    if (name == entry.pw_name) found = entry.pw_uid;
  });
  return found;
}

std::optional<gid_t> number_of_group(std::string_view name) {
  gid_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec == std::errc() && read.ptr == name.data() + name.size()) return number;
  std::optional<gid_t> found;
  for_each_group([&](const group& entry) {
    if (!found && name == entry.gr_name) found = entry.gr_gid;
  });
  return found;
}

std::optional<std::vector<uid_t>> members_of_group(std::string_view name) {
  std::optional<gid_t> number;
  std::set<std::string> names;
  for_each_group([&](const group& entry) {
    if (name != entry.gr_name) return;
    number = entry.gr_gid;
    for (char** member = entry.gr_mem; *member != nullptr; ++member) names.insert(*member);
  });
  if (!number) return std::nullopt;
  std::vector<uid_t> users;
  for_each_account([&](const passwd& entry) {
    const bool is_in = entry.pw_gid == *number || names.contains(entry.pw_name);
    if (is_in) users.push_back(entry.pw_uid);
  });
  return users;
}

std::string UserNames::of(uid_t user) {
  constexpr auto kFor = std::chrono::minutes(1);  // an account may be renamed, or given to another
  const auto now = std::chrono::steady_clock::now();
  const auto known = names_.find(user);
  if (known != names_.end() && now - known->second.at < kFor) return known->second.name;
  std::string name = std::to_string(user);
  for_each_account([&](const passwd& entry) {
    if (entry.pw_uid == user) name = entry.pw_name;
  });
  names_[user] = {.name = name, .at = now};
  return name;
}

}  // namespace berth::daemon
