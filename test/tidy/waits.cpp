// What may wait: the rule, and the table of what is allowed where and why.
//
// The engine's thread serves every user, and a shim holds a place on a GPU. Neither may open a file
// that a user chooses, wait for a program of a user's, or ask a server of the network: a pipe, a
// link, a device, a file system that does not answer or a stopped process would hold up everybody.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "tidy/rules.hpp"

namespace berth::tidy {

namespace {

/// Functions of the system, as calls of a global function.
constexpr auto kWaitingCalls = std::to_array<std::string_view>(
    {"open",         "openat",     "creat",        "fopen",      "opendir",     "stat",
     "lstat",        "statx",      "access",       "readlink",   "realpath",    "rename",
     "unlink",       "mkdir",      "rmdir",        "chown",      "truncate",    "posix_spawn",
     "posix_spawnp", "fork",       "vfork",        "clone",      "execve",      "execvp",
     "waitpid",      "waitid",     "wait4",        "popen",      "system",      "poll",
     "ppoll",        "select",     "connect",      "accept",     "flock",       "sleep",
     "usleep",       "nanosleep",  "getpwnam",     "getpwuid",   "getpwnam_r",  "getpwuid_r",
     "getgrnam",     "getgrnam_r", "getgrouplist", "initgroups", "getaddrinfo", "gethostbyname"});

/// What does the same by another name.
constexpr auto kWaitingNames = std::to_array<std::string_view>(
    {"ifstream", "ofstream", "fstream", "filebuf", "directory_iterator",
     "recursive_directory_iterator", "create_directories", "remove_all", "sleep_for", "sleep_until",
     "read_small_file", "replace_small_file"});

struct Permit {
  std::string_view path;
  std::string_view what;  ///< Calls and names, with blanks between.
  std::string_view why;
};

constexpr std::string_view kOwnFile =
    "a file in a folder that only berthd may write: its state, the disk of the journal";
constexpr std::string_view kOwnFolder =
    "names in a folder of berthd's own; nothing there is opened";
constexpr std::string_view kAtStart = "before the first request is taken";
constexpr std::string_view kProc =
    "files of /proc for which the kernel takes no lock of the process that they are about";
constexpr std::string_view kCgroups = "files of the kernel's, in cgroups that are root's";
constexpr std::string_view kOwnThread = "on a thread of its own, for which nobody waits";
constexpr std::string_view kOwnProcess = "in a process of its own, which is given up in time";
constexpr std::string_view kNeverWaits = "it is over when it is asked: WNOHANG, or a time of 0";
constexpr std::string_view kOwnProgram = "a program of berth's own, which is not waited for";
constexpr std::string_view kAsJob = "in the job's own process; who waits for it can be killed";

constexpr auto kPermits = std::to_array<Permit>({
    {"src/daemon/notices/announce.cpp", "execvp", kOwnProcess},
    {"src/daemon/notices/announcer.cpp", "access",
     "the folders in which a machine has its programs"},
    {"src/daemon/api/api_jobs.cpp", "stat", "the size of a log, which is in berthd's folder"},
    {"src/daemon/notices/audit.cpp", "open rename stat", kOwnFile},
    {"src/daemon/loop/clock.cpp", "ifstream ofstream", kOwnFile},
    {"src/daemon/daemon.cpp", "read_small_file replace_small_file", kOwnFile},
    {"src/daemon/attempts/declared.cpp", "open", kOwnThread},
    {"src/daemon/attempts/descent.cpp", "opendir access ifstream", kOwnProcess},
    {"src/daemon/limits/device_files.cpp", "stat mkdir rmdir read_small_file", kAtStart},
    {"src/daemon/limits/device_program.cpp", "open", kCgroups},
    {"src/daemon/requests/doctor.cpp", "stat readlink directory_iterator", kOwnFile},
    {"src/daemon/machine/executor.cpp", "access", kCgroups},
    {"src/daemon/loop/helper.cpp", "posix_spawn", kOwnProgram},
    {"src/daemon/machine/host.cpp", "open mkdir", kOwnFile},
    {"src/daemon/limits/host_limits.cpp", "open mkdir access read_small_file", kCgroups},
    {"src/daemon/attempts/job_keys.cpp", "open rename read_small_file", kAtStart},
    {"src/daemon/settings/known_gpus.cpp", "unlink replace_small_file", kOwnFile},
    {"src/daemon/attempts/launcher.cpp",
     "open opendir access stat rename unlink mkdir flock usleep", kOwnFile},
    {"src/daemon/attempts/leftovers.cpp", "open opendir access sleep_for", kOwnProcess},
    {"src/daemon/limits/limits.cpp", "opendir mkdir rmdir ifstream ofstream read_small_file",
     kCgroups},
    {"src/daemon/attempts/logs.cpp", "open poll", kOwnThread},
    {"src/daemon/machine/machine.cpp", "directory_iterator ifstream", kAtStart},
    {"src/daemon/limits/mps.cpp", "opendir mkdir unlink rmdir access ifstream ofstream",
     "files of berthd's own beside the servers' folders; nothing in those is opened"},
    {"src/daemon/limits/mps.cpp", "poll", kNeverWaits},
    {"src/daemon/limits/mps_errand.cpp", "open mkdir unlink chown posix_spawn waitpid usleep",
     kOwnProcess},
    {"src/daemon/attempts/oom.cpp", "open", "the job's log, which is in berthd's folder"},
    {"src/daemon/machine/order.cpp", "mkdir", kCgroups},
    {"src/daemon/limits/own_cgroup.cpp", "open stat fork execvp waitpid sleep_for read_small_file",
     kAtStart},
    {"src/daemon/loop/processes.cpp", "open fopen", kProc},
    {"src/daemon/loop/processes.cpp", "waitid", kNeverWaits},
    {"src/daemon/program/program.cpp", "open access stat flock usleep mkdir create_directories",
     kAtStart},
    {"src/daemon/attempts/reports.cpp", "connect lstat unlink", "berthd's own socket"},
    {"src/daemon/settings/retention.cpp", "opendir unlink", kOwnThread},
    {"src/daemon/site/shim_site.cpp", "read_small_file replace_small_file", kOwnFile},
    {"src/daemon/attempts/snapshot_child.cpp", "fork",
     "a copy of berthd, which writes to berthd's own disk"},
    {"src/daemon/attempts/snapshot_child.cpp", "waitpid",
     "of that copy: looked at, or killed before"},
    {"src/daemon/attempts/spares.cpp", "open posix_spawn", kOwnProgram},
    {"src/daemon/suspend/suspend_files.cpp", "opendir mkdir rename unlink ifstream ofstream",
     kOwnFile},
    {"src/daemon/suspend/suspend_helper.cpp", "open poll sleep_for", kOwnProcess},
    {"src/daemon/suspend/suspend_helpers.cpp", "poll waitpid", kAtStart},
    {"src/daemon/suspend/suspender.cpp", "open", kCgroups},
    {"src/posix/small_file.hpp", "open rename read_small_file replace_small_file",
     "who calls it has a permit of its own"},
    {"src/posix/streams.hpp", "open", kAtStart},
    {"src/shim/main.cpp", "open", "/dev/null, before its order"},
    {"src/shim/proc.cpp", "open readlink", kProc},
    {"src/shim/program/adoption.cpp", "poll", kNeverWaits},
    {"src/shim/program/client.cpp", "open unlink",
     "the request that berthd leaves beside the attempt file"},
    {"src/shim/program/client.cpp", "connect", kOwnProcess},
    {"src/shim/program/client.cpp", "poll", "for a client that reads, a few seconds"},
    {"src/shim/program/copy.cpp", "access mkdir open usleep", kOwnProcess},
    {"src/shim/program/copy.cpp", "poll", "for the user's process, within the limits of copy.hpp"},
    {"src/shim/program/elsewhere.cpp", "open", kOwnProcess},
    {"src/shim/program/elsewhere.cpp", "poll", "for that process, two seconds at most"},
    {"src/shim/program/ending.cpp", "open", kCgroups},
    {"src/shim/program/exec.cpp", "open execve stat", kAsJob},
    {"src/shim/program/helper.cpp", "open", "/dev/null"},
    {"src/shim/program/helper.cpp", "poll waitpid", "for a process of the user's, within a limit"},
    {"src/shim/program/launch.cpp", "open clone", kAsJob},
    {"src/shim/program/poll_set.hpp", "poll", "the loop of the shim"},
    {"src/shim/program/session.cpp", "rmdir", kCgroups},
    {"src/shim/program/session.cpp", "waitpid", kNeverWaits},
    {"src/shim/program/streams.cpp", "open", "/dev/null"},
    {"src/shim/program/tree.cpp", "open opendir", kProc},
    {"src/shim/program/user.cpp", "fork poll waitpid",
     "for a process that only sends signals, within a limit"},
});

bool is_watched(const Source& source) {
  constexpr std::array folders = {"src/daemon/", "src/live/", "src/shim/", "src/posix/"};
  return is_cpp(source) && std::ranges::any_of(folders, [&](std::string_view folder) {
           return source.path.starts_with(folder);
         });
}

bool is_part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// True where `line` calls this global function: `::open(`, or `open(` in a file of the shim's.
bool calls(const Source& source, std::string_view line, std::string_view function) {
  for (std::size_t at = line.find(function); at != std::string_view::npos;
       at = line.find(function, at + 1)) {
    const std::string_view before = line.substr(0, at);
    const std::string_view after = line.substr(at + function.size());
    if (!after.starts_with('(')) continue;
    if (before.ends_with("::")) {
      const std::string_view scope = before.substr(0, before.size() - 2);
      const bool is_std = scope.ends_with("std");
      if (is_std || scope.empty() || (!is_part_of_word(scope.back()) && scope.back() != '>')) {
        return true;
      }
      continue;
    }
    const bool is_other = !before.empty() && (is_part_of_word(before.back()) ||
                                              before.ends_with('.') || before.ends_with("->"));
    if (!is_other && source.path.starts_with("src/shim/")) return true;
  }
  return false;
}

std::set<std::string_view> found_in(const Source& source, std::string_view line) {
  std::set<std::string_view> found;
  for (const std::string_view call : kWaitingCalls) {
    if (calls(source, line, call)) found.insert(call);
  }
  if (line.find('#') != std::string_view::npos) return found;  // an include
  for (const std::string_view name : kWaitingNames) {
    if (has_word(line, name)) found.insert(name);
  }
  return found;
}

bool is_permitted(std::string_view path, std::string_view what) {
  return std::ranges::any_of(kPermits, [&](const Permit& permit) {
    return permit.path == path && has_word(permit.what, what);
  });
}

}  // namespace

Findings waits(const Source& source) {
  if (!is_watched(source)) return {};
  Findings findings;
  const std::string code = code_only(source.text);
  const auto lines = lines_of(code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view what : found_in(source, lines[i])) {
      if (is_permitted(source.path, what)) continue;
      findings.push_back({source.path, i + 1,
                          std::string(what) +
                              " may wait, for a user's file or process too: move it off the "
                              "engine's thread, or say in test/tidy/waits.cpp why it does not"});
    }
  }
  return findings;
}

Findings idle_permits(std::span<const Source> tree) {
  Findings findings;
  for (const Permit& permit : kPermits) {
    const auto source = std::ranges::find(tree, permit.path, &Source::path);
    std::set<std::string_view> used;
    const std::string code = source == tree.end() ? "" : code_only(source->text);
    if (source != tree.end()) {
      for (const std::string_view line : lines_of(code)) used.merge(found_in(*source, line));
    }
    for (std::string_view rest = permit.what; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      if (used.contains(word)) continue;
      findings.push_back({std::string(permit.path), 0,
                          "has a permit for " + std::string(word) + ", which it does not use"});
    }
  }
  return findings;
}

}  // namespace berth::tidy
