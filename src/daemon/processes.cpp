#include "daemon/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace berth::daemon {

namespace {

constexpr int kDeepest = 256;  ///< Of a process tree that is followed.

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

struct Stat {
  char state = 'Z';
  pid_t parent = 0;
  pid_t session = 0;
};

/// Fields 3, 4 and 6 of /proc/PID/stat: after the name, which may hold anything.
std::optional<Stat> stat_of(pid_t pid) {
  const auto text = read_proc(proc(pid, "stat"), 1024);
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  Stat stat;
  long parent = 0;
  long group = 0;
  long session = 0;
  if (std::sscanf(text->c_str() + name_end + 1, " %c %ld %ld %ld", &stat.state, &parent, &group,
                  &session) != 4) {
    return std::nullopt;
  }
  stat.parent = static_cast<pid_t>(parent);
  stat.session = static_cast<pid_t>(session);
  return stat;
}

bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    if (environment.substr(0, end) == variable) return true;
    if (end == std::string_view::npos) return false;
    environment.remove_prefix(end + 1);
  }
  return false;
}

bool is_marked(pid_t pid, const shim::Record& record, const std::string& mark) {
  const auto environment = read_proc(proc(pid, "environ"), std::size_t{4} << 20);
  return environment && has_variable(*environment, mark) &&
         has_variable(*environment, "BERTH_JOB_ID=" + std::to_string(record.job.value())) &&
         has_variable(*environment, "BERTH_ATTEMPT=" + std::to_string(record.attempt.value()));
}

/// After a reboot, or once numbers have come round, another session has the same number: its leader
/// started at another time, its members before ours began.
bool is_of_session(pid_t pid, const shim::Process& leader) {
  const auto leader_start = shim::start_of(leader.pid);
  if (leader_start) return *leader_start == leader.start;
  const auto start = shim::start_of(pid);
  return start && *start >= leader.start;
}

bool is_left_of(pid_t pid, const shim::Record& record, const std::string& mark) {
  if (process_user(pid) != record.user) return false;
  const auto stat = stat_of(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return false;
  const bool in_session =
      record.go && stat->session == record.go->pid && is_of_session(pid, *record.go);
  return in_session || is_marked(pid, record, mark);
}

/// Between the look and the signal the pid could become another's; through a pidfd it cannot.
bool kill_if_left(pid_t pid, const shim::Record& record, const std::string& mark) {
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.is_open() || !is_left_of(pid, record, mark)) return false;
  send_signal(pidfd, SIGKILL);
  return true;
}

}  // namespace

Whose whose(pid_t pid, const Shims& shims) {
  pid_t at = pid;
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (const auto found = shims.find(at); found != shims.end()) return found->second;
    const auto stat = stat_of(at);
    if (!stat) return depth == 0 ? Whose(Nobody{}) : Whose(Stranger{});
    if (stat->parent <= 1) return Stranger{};
    at = stat->parent;
  }
  return Stranger{};
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

bool has_pending(pid_t pid, int signal) {
  constexpr int kHex = 16;
  constexpr std::string_view kKey = "\nShdPnd:\t";
  const auto text = read_proc(proc(pid, "status"), 4096);
  const std::size_t line = text ? text->find(kKey) : std::string::npos;
  if (line == std::string::npos) return false;
  std::uint64_t pending = 0;
  const char* const begin = text->data() + line + kKey.size();
  std::from_chars(begin, text->data() + text->size(), pending, kHex);
  return (pending >> (signal - 1) & 1) != 0;
}

int kill_left_behind(const shim::Record& record, const std::string& mark) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return 0;
  int killed = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
    if (pid != ::getpid() && kill_if_left(pid, record, mark)) ++killed;
  }
  return killed;
}

std::string process_name(pid_t pid) {
  auto name = read_proc(proc(pid, "comm"), 64);
  if (!name) return "";
  while (!name->empty() && name->back() == '\n') name->pop_back();
  return *name;
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

/// Calls visit(entry) for every account of /etc/passwd.
template <class Visit>
void for_each_account(Visit visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                             std::fclose);
  while (const passwd* entry = file ? ::fgetpwent(file.get()) : nullptr) visit(*entry);
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

std::string UserNames::of(uid_t user) {
  const auto known = names_.find(user);
  if (known != names_.end()) return known->second;
  std::string name = std::to_string(user);
  for_each_account([&](const passwd& entry) {
    if (entry.pw_uid == user) name = entry.pw_name;
  });
  return names_[user] = name;
}

}  // namespace berth::daemon
