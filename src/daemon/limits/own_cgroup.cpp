#include "daemon/limits/own_cgroup.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "daemon/loop/processes.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr std::string_view kBelow = "/berthd";  ///< Where berthd itself is, below the folder.
constexpr auto kScopePatience = std::chrono::seconds(20);
constexpr auto kScopePause = std::chrono::milliseconds(20);

/// systemd tells the process that it started, from release 248 on, that it is the one.
bool is_service_of_systemd() {
  if (std::getenv("INVOCATION_ID") == nullptr) return false;
  if (const char* const pid = std::getenv("SYSTEMD_EXEC_PID")) {
    return pid == std::to_string(::getpid());
  }
  const std::string parent = process_name(::getppid());
  return parent == "systemd" || parent == "init";
}

bool has_any_process(const std::string& folder) {
  return read_small_file(folder + "/cgroup.events").find("populated 1") != std::string::npos;
}

/// It is nothing but the process that keeps the scope while no job runs.
std::vector<std::string> words_to_begin(const OwnCgroup& own) {
  std::vector<std::string> words = {"systemd-run",
                                    "--quiet",
                                    "--scope",
                                    "--collect",
                                    "--slice-inherit",
                                    "--unit=" + own.scope,
                                    "--description=jobs of berth",
                                    "--property=Delegate=yes"};
  if (own.is_of_a_user) words.insert(words.begin() + 1, "--user");
  words.insert(words.end(), {"--", "sleep", "infinity"});
  return words;
}

/// Returns: the child, whose words go to `said`.
pid_t spawn_systemd_run(std::vector<std::string> words, const Descriptor& said) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(said.number(), STDERR_FILENO);
  static_cast<void>(::chdir("/"));
  ::execvp(arguments.front(), arguments.data());
  const std::string_view words_of_failure = "systemd-run: cannot be run";
  static_cast<void>(::write(STDERR_FILENO, words_of_failure.data(), words_of_failure.size()));
  ::_exit(127);
}

std::string words_in(const Descriptor& file) {
  std::array<char, 400> text{};
  const ssize_t got = ::pread(file.number(), text.data(), text.size(), 0);
  std::string words(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::ranges::replace(words, '\n', ' ');
  return words;
}

/// One of an earlier berthd has jobs in it, or the process that keeps it.
Expected<void> begin_scope(const OwnCgroup& own) {
  if (has_any_process(own.folder)) return {};
  const Descriptor said(::memfd_create("berth-systemd-run", MFD_CLOEXEC));
  if (!said.is_open()) return io_error("memory for systemd's words");
  const pid_t child = spawn_systemd_run(words_to_begin(own), said);
  if (child < 0) return io_error("systemd-run");
  const auto end = std::chrono::steady_clock::now() + kScopePatience;
  while (std::chrono::steady_clock::now() < end) {
    if (has_any_process(own.folder)) return {};
    if (::waitpid(child, nullptr, WNOHANG) == child) {
      return fail(ErrorCode::Io, own.scope + ": systemd did not begin it: " + words_in(said));
    }
    std::this_thread::sleep_for(kScopePause);
  }
  return fail(ErrorCode::Io, own.scope + ": systemd did not begin it in " +
                                 std::to_string(kScopePatience.count()) + " s: " + words_in(said));
}

}  // namespace

Expected<OwnCgroup> own_cgroup(std::string_view proc_self_cgroup, CgroupManager manager) {
  constexpr std::string_view kUnified = "0::";
  std::string_view path;
  for (std::string_view rest = proc_self_cgroup; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with(kUnified)) path = line.substr(kUnified.size());
  }
  const bool is_below = path.ends_with(kBelow);
  if (is_below) path.remove_suffix(kBelow.size());
  if (path.empty() || path == "/") {  // the root's children are other programs' to manage
    return fail(ErrorCode::NotFound,
                "berthd is in no cgroup v2 of its own; with systemd, Delegate=yes gives it one");
  }
  OwnCgroup own{.folder = std::string(kMount) + std::string(path), .scope = {}};
  if (is_below || manager == CgroupManager::Nobody) return own;
  const std::string_view unit = path.substr(path.rfind('/') + 1);
  own.scope = std::string(unit.substr(0, unit.rfind('.'))) + "-jobs.scope";
  std::ranges::replace(own.scope, '@', '-');  // names of scopes have none
  own.folder.resize(own.folder.rfind('/') + 1);
  own.folder += own.scope;
  own.is_of_a_user = path.find("/user@") != std::string_view::npos;
  return own;
}

Expected<std::string> folder_of_own_cgroup(CgroupAsked asked) {
  if (asked == CgroupAsked::Nothing && !is_service_of_systemd()) return "";
  struct stat status{};
  const bool has_systemd = ::stat("/run/systemd/system", &status) == 0;
  const auto own = own_cgroup(read_small_file("/proc/self/cgroup"),
                              has_systemd ? CgroupManager::Systemd : CgroupManager::Nobody);
  if (!own) return std::unexpected(own.error());
  if (own->scope.empty()) return own->folder;
  if (auto begun = begin_scope(*own); !begun) return std::unexpected(begun.error());
  return own->folder;
}

bool is_cgroup_folder(const std::string& folder) {
  struct stat status{};
  return !folder.empty() && ::stat((folder + "/cgroup.procs").c_str(), &status) == 0;
}

}  // namespace berth::daemon
