#include "daemon/attempts/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "daemon/loop/processes.hpp"
#include "posix/descriptor.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kEndingPatience{30};  ///< With processes that were killed.
constexpr std::chrono::seconds kSign{1};             ///< Between signs of life to the daemon.
constexpr std::chrono::milliseconds kAgain{5};       ///< One may fork faster than it is stopped.

AttemptKey key_of(const Leftover& left) { return {left.record.job, left.record.attempt}; }

std::string read_file(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (file.is_open() && text.size() < most) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

// ---- Processes -------------------------------------------------------------------------------

struct Live {
  shim::Stat stat;
  uid_t user = 0;
};

/// One that lives and is one of these users'.
std::optional<Live> live_process(pid_t pid, const std::set<uid_t>& users) {
  const auto user = process_user(pid);
  if (!user || !users.contains(*user) || pid == ::getpid()) return std::nullopt;
  const auto stat = shim::stat_of(pid);
  if (!stat || shim::has_exited(*stat)) return std::nullopt;
  return Live{*stat, *user};
}

void for_each_live(const std::set<uid_t>& users, const std::function<void(const Live&)>& work) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
    if (const auto live = live_process(pid, users)) work(*live);
  }
}

/// The number that was given last; 0 where nobody tells.
pid_t newest_process() {
  const std::string text = read_file("/proc/loadavg", 256);
  const std::size_t at = text.rfind(' ') + 1;  // npos + 1 is 0
  pid_t pid = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), pid);
  return pid;
}

std::set<uid_t> users_of(std::span<const Leftover> left) {
  std::set<uid_t> users;
  for (const Leftover& one : left) users.insert(one.record.user);
  return users;
}

/// Between the look and the signal the pid could become another's; through a pidfd it cannot.
void signal_exactly(const Live& process, int signal) {
  const auto pidfd = open_process({process.stat.pid, process.stat.start});
  if (pidfd) send_signal(*pidfd, signal);
}

/// After a reboot, or once numbers have come round, another session has the same number: its leader
/// started at another time, its members before ours began.
bool is_in_session_of(const Live& process, const shim::Process& leader) {
  if (process.stat.session != leader.pid) return false;
  const auto leader_start = shim::start_of(leader.pid);
  return leader_start ? *leader_start == leader.start : process.stat.start >= leader.start;
}

/// One that was adopted is not the leader of its session.
bool is_process(const Live& process, const shim::Process& job) {
  return process.stat.pid == job.pid && process.stat.start == job.start;
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

bool carries(std::string_view environment, const shim::Record& record, std::string_view mark) {
  return has_variable(environment, mark) &&
         has_variable(environment, "BERTH_JOB_ID=" + std::to_string(record.job.value())) &&
         has_variable(environment, "BERTH_ATTEMPT=" + std::to_string(record.attempt.value()));
}

using Find = std::function<const Leftover*(const Live&)>;

/// As root: what forks all the time has every processor.
class BeforeAllOthers {
 public:
  BeforeAllOthers() { ::setpriority(PRIO_PROCESS, 0, -20); }
  BeforeAllOthers(const BeforeAllOthers&) = delete;
  BeforeAllOthers& operator=(const BeforeAllOthers&) = delete;
  ~BeforeAllOthers() { ::setpriority(PRIO_PROCESS, 0, before_); }

 private:
  int before_ = ::getpriority(PRIO_PROCESS, 0);
};

/// Stops each process for which `find` names an attempt, until no other is seen: one that is
/// stopped makes no other. Among those that fork and end all the time the newest is over before a
/// list of all has come to it, so it is also asked for by its number. Returns: how many it saw.
std::size_t stop_found(const std::set<uid_t>& users, const Find& find) {
  constexpr auto kMost = std::chrono::milliseconds(1000);  // the next round goes on
  constexpr int kQuiet = 10;  // Each look misses some that fork as fast as they can.
  constexpr int kChases = 50;
  constexpr pid_t kNear = 3;
  const auto end = SteadyClock::now() + kMost;
  std::set<std::pair<pid_t, std::uint64_t>> stopped;
  const auto stop = [&](const Live& process) {
    const std::pair key(process.stat.pid, process.stat.start);
    if (process.stat.state == 'T' && stopped.contains(key)) return false;
    if (find(process) == nullptr) return false;
    signal_exactly(process, SIGSTOP);
    return stopped.insert(key).second;
  };
  for (int quiet = 0; quiet < kQuiet && SteadyClock::now() < end; ++quiet) {
    bool is_new = false;
    for_each_live(users, [&](const Live& process) { is_new = stop(process) || is_new; });
    for (int i = 0; i < kChases; ++i) {
      const pid_t newest = newest_process();
      for (pid_t pid = newest; pid > 0 && pid > newest - kNear; --pid) {
        const auto process = live_process(pid, users);
        is_new = (process && stop(*process)) || is_new;
      }
    }
    if (is_new) quiet = -1;
  }
  return stopped.size();
}

/// Stops and kills each process for which `find` names an attempt. Returns: how many it saw; those
/// that were over before they were stopped may have left another.
std::size_t kill_found(std::span<const Leftover> left, Killed& killed, const Find& find) {
  const std::set<uid_t> users = users_of(left);
  const BeforeAllOthers priority;
  const std::size_t seen = stop_found(users, find);
  std::size_t found = 0;
  for_each_live(users, [&](const Live& process) {
    const Leftover* const of = find(process);
    if (of == nullptr) return;
    signal_exactly(process, SIGKILL);
    killed[key_of(*of)].emplace(process.stat.pid, process.stat.start);
    ++found;
  });
  return std::max(seen, found);
}

// ---- Cgroups ---------------------------------------------------------------------------------

/// Whether there is a cgroup that can be killed whole.
bool is_cgroup(const std::string& folder) {
  return !folder.empty() && ::access((folder + "/cgroup.kill").c_str(), W_OK) == 0;
}

bool is_populated(const std::string& folder) {
  return read_file(folder + "/cgroup.events", 4096).find("populated 1") != std::string::npos;
}

void kill_cgroup(const std::string& folder) {
  const Descriptor file(::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (file.is_open() && ::write(file.number(), "1", 1) < 0) return;  // tried again
}

int count_in_cgroup(const std::string& folder) {
  const std::string pids = read_file(folder + "/cgroup.procs", std::size_t{1} << 20);
  return static_cast<int>(std::ranges::count(pids, '\n'));
}

// ---- The process -----------------------------------------------------------------------------

void tell_berthd(const std::string& line) {
  // One whose daemon has gone goes too, by SIGPIPE; the next daemon asks again.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);
}

void report(const Leftover& left, const Ended& ended) {
  tell_berthd("ended " + std::to_string(left.record.job.value()) + " " +
              std::to_string(left.record.attempt.value()) + " " + std::to_string(ended.processes) +
              " " + std::to_string(ended.by_cgroup ? 1 : 0) + " " + std::to_string(ended.hanging) +
              "\n");
}

class LeftoverHelper {
 public:
  explicit LeftoverHelper(Search search) : search_(std::move(search)) {
    for (Leftover& left : search_.left) {
      auto& list = is_cgroup(left.cgroup) ? grouped_ : single_;
      list.push_back(std::move(left));
    }
  }

  void run() {
    for (const Leftover& left : grouped_) end_cgroup(left);
    end_all([this] { return kill_in_sessions(single_, killed_); });
    report_single();  // what follows may wait for ever
    end_all([this] { return kill_marked(single_, search_.mark, killed_); });
    report_single();
    tell_berthd("saw all\n");
  }

 private:
  /// Until a round finds nothing. Returns: what the last round found: they take their time.
  std::size_t end_all(const std::function<std::size_t()>& kill_round) {
    std::size_t found = 0;
    while ((found = kill_round()) > 0 && SteadyClock::now() < end_) rest();
    return found;
  }
  void end_cgroup(const Leftover& left) {
    while (is_populated(left.cgroup) && SteadyClock::now() < end_) {
      kill_cgroup(left.cgroup);
      rest();
    }
    report(left, {.by_cgroup = true, .hanging = count_in_cgroup(left.cgroup)});
  }
  void report_single() {
    for (const Leftover& left : single_) {
      const auto& processes = killed_[key_of(left)];
      const auto is_left = [](const auto& process) {
        return shim::start_of(process.first) == process.second;
      };
      report(left, {.processes = static_cast<int>(processes.size()),
                    .hanging = static_cast<int>(std::ranges::count_if(processes, is_left))});
    }
  }
  void rest() {
    std::this_thread::sleep_for(kAgain);
    if (SteadyClock::now() - said_ < kSign) return;
    said_ = SteadyClock::now();
    tell_berthd("at work\n");
  }

  Search search_;
  std::vector<Leftover> grouped_;
  std::vector<Leftover> single_;
  Killed killed_;
  SteadyClock::time_point said_ = SteadyClock::now();
  SteadyClock::time_point end_ = SteadyClock::now() + kEndingPatience;
};

}  // namespace

std::size_t kill_in_sessions(std::span<const Leftover> left, Killed& killed) {
  return kill_found(left, killed, [&](const Live& process) {
    const auto found = std::ranges::find_if(left, [&](const Leftover& one) {
      return one.record.user == process.user && one.record.go &&
             (is_process(process, *one.record.go) || is_in_session_of(process, *one.record.go));
    });
    return found == left.end() ? nullptr : &*found;
  });
}

std::size_t kill_marked(std::span<const Leftover> left, const std::string& mark, Killed& killed) {
  return kill_found(left, killed, [&](const Live& process) {
    const std::string environment =
        read_file("/proc/" + std::to_string(process.stat.pid) + "/environ", std::size_t{4} << 20);
    const auto found = std::ranges::find_if(left, [&](const Leftover& one) {
      return one.record.user == process.user && carries(environment, one.record, mark);
    });
    return found == left.end() ? nullptr : &*found;
  });
}

std::string encode(const Search& search) {
  std::string text = search.mark + "\n";
  for (const Leftover& left : search.left) {
    const shim::Process go = left.record.go.value_or(shim::Process{});
    std::ostringstream line;
    line << left.record.job.value() << ' ' << left.record.attempt.value() << ' ' << left.record.user
         << ' ' << go.pid << ' ' << go.start << ' ' << left.cgroup << '\n';
    text += line.str();
  }
  return text;
}

Expected<Search> decode_search(std::string_view text) {
  std::istringstream lines{std::string(text)};
  Search search;
  std::getline(lines, search.mark);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    JobId::rep job = 0;
    Attempt::rep attempt = 0;
    Leftover left;
    shim::Process go;
    if (!(words >> job >> attempt >> left.record.user >> go.pid >> go.start)) {
      return fail(ErrorCode::BadData, "leftovers: '" + line + "' names no attempt");
    }
    left.record.job = JobId(job);
    left.record.attempt = Attempt(attempt);
    if (go.pid > 0) left.record.go = go;
    words.get();
    std::getline(words, left.cgroup);
    search.left.push_back(std::move(left));
  }
  return search;
}

Report decode_report(std::string_view text) {
  std::istringstream lines{std::string(text.substr(0, text.rfind('\n') + 1))};
  Report report;
  for (std::string line; std::getline(lines, line);) {
    report.saw_all = report.saw_all || line == "saw all";
    std::istringstream words(line);
    std::string word;
    JobId::rep job = 0;
    Attempt::rep attempt = 0;
    Ended ended;
    if (!(words >> word >> job >> attempt >> ended.processes >> ended.by_cgroup >> ended.hanging)) {
      continue;
    }
    report.ended[{JobId(job), Attempt(attempt)}] = ended;
  }
  return report;
}

int end_leftovers() {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  auto search = decode_search(text);
  if (!search) return 2;
  LeftoverHelper(std::move(*search)).run();
  return 0;
}

}  // namespace berth::daemon
