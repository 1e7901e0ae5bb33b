#include "daemon/limits/mps_errand.hpp"

#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <sstream>

#include "posix/descriptor.hpp"
#include "posix/keyring.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

namespace {

constexpr const char* kMpsPidFile = "/nvidia-cuda-mps-control.pid";
constexpr std::string_view kUp = "up ";
constexpr std::string_view kMpsFailed = "failed ";
constexpr const char* kMpsGone = "gone";

int mps_answer(const std::string& line) {
  return ::write(STDOUT_FILENO, (line + "\n").data(), line.size() + 1) < 0 ? 1 : 0;
}

int mps_failed(const std::string& what) {
  return mps_answer(std::string(kMpsFailed) + what + ": " + std::strerror(errno));
}

/// While the process is berthd's still: the folder around it is.
bool make_mps_folder(const MpsErrand& errand) {
  if (::mkdir(errand.folder.c_str(), 0700) != 0) return errno == EEXIST;
  return ::geteuid() != 0 || ::chown(errand.folder.c_str(), errand.user, errand.group) == 0;
}

bool become_owner(const MpsErrand& errand) {
  if (::geteuid() != 0) return true;
  return ::setgroups(errand.groups.size(), errand.groups.data()) == 0 &&
         ::setresgid(errand.group, errand.group, errand.group) == 0 &&
         ::setresuid(errand.user, errand.user, errand.user) == 0;
}

/// One that only waits to be collected is gone.
bool mps_runs(pid_t pid) {
  return pid > 1 && ::kill(pid, 0) == 0 && shim::start_of(pid).has_value();
}

/// The control program that runs in this folder; 0 if none does.
pid_t mps_control_in(const std::string& folder) {
  const Descriptor file(
      ::open((folder + kMpsPidFile).c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 32> text{};
  const ssize_t size = file.is_open() ? ::read(file.number(), text.data(), text.size()) : 0;
  pid_t pid = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, pid);
  return mps_runs(pid) ? pid : 0;
}

/// Runs it to its end, however long that takes: berthd has a limit. Returns: whether it did well.
bool run_mps_control(const MpsErrand& errand, const char* flag, const std::string& input) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  Descriptor ours(ends[1]);
  const Descriptor theirs(ends[0]);
  if (::write(ours.number(), input.data(), input.size()) < 0) return false;
  ours.close();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = errand.control;
  std::string option = flag;
  std::array<char*, 3> words = {name.data(), option.empty() ? nullptr : option.data(), nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, name.c_str(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int begin_server(const MpsErrand& errand) {
  pid_t control = mps_control_in(errand.folder);
  if (control == 0) {
    ::unlink((errand.folder + kMpsPidFile).c_str());  // of one that was killed
    const bool is_well = run_mps_control(errand, "-d", "");
    control = is_well ? mps_control_in(errand.folder) : 0;
  }
  if (control > 0) return mps_answer(std::string(kUp) + std::to_string(control));
  return mps_answer(std::string(kMpsFailed) + errand.control + " -d did not start a server in " +
                    errand.folder + "; its log there may say why");
}

int end_server(const MpsErrand& errand) {
  const pid_t control = mps_control_in(errand.folder);
  if (control != 0) {
    if (!run_mps_control(errand, "", "quit\n")) return 1;
    constexpr int kTurns = 200;
    constexpr useconds_t kTurn = 10'000;
    for (int turn = 0; turn < kTurns && mps_runs(control); ++turn) ::usleep(kTurn);
    if (mps_runs(control)) return 1;
  }
  return mps_answer(kMpsGone);
}

}  // namespace

std::string encode(const MpsErrand& errand) {
  std::ostringstream text;
  text << (errand.what == MpsErrand::What::Begin ? "begin " : "end ") << errand.user << ' '
       << errand.group << ' ' << errand.groups.size();
  for (const gid_t group : errand.groups) text << ' ' << group;
  text << '\n' << errand.control << '\n' << errand.folder << '\n';
  return text.str();
}

Expected<MpsErrand> decode_mps_errand(std::string_view text) {
  std::istringstream lines{std::string(text)};
  MpsErrand errand;
  std::string what;
  std::size_t groups = 0;
  lines >> what >> errand.user >> errand.group >> groups;
  for (gid_t group = 0; errand.groups.size() < groups && lines >> group;) {
    errand.groups.push_back(group);
  }
  lines.ignore();
  std::getline(lines, errand.control);
  std::getline(lines, errand.folder);
  errand.what = what == "end" ? MpsErrand::What::End : MpsErrand::What::Begin;
  const bool is_known = what == "begin" || what == "end";
  const bool is_whole = lines && errand.groups.size() == groups && !errand.folder.empty();
  if (is_known && is_whole) return errand;
  return fail(ErrorCode::BadData, std::to_string(text.size()) + " bytes are no errand");
}

Expected<pid_t> decode_mps_answer(std::string_view said) {
  const std::string_view line = said.substr(0, said.find('\n'));
  pid_t pid = 0;
  if (line.starts_with(kUp)) {
    const auto read = std::from_chars(line.data() + kUp.size(), line.data() + line.size(), pid);
    if (read.ptr == line.data() + line.size() && pid > 1) return pid;
  }
  if (line.starts_with(kMpsFailed)) {
    return fail(ErrorCode::Io, std::string(line.substr(kMpsFailed.size())));
  }
  return fail(ErrorCode::NotFound, "nothing was said of it");
}

bool says_gone(std::string_view said) { return said.starts_with(kMpsGone); }

int mps_errand() {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  const auto errand = decode_mps_errand(text);
  if (!errand) return 2;
  const bool begins = errand->what == MpsErrand::What::Begin;
  if (begins && !make_mps_folder(*errand)) return mps_failed(errand->folder);
  if (!become_owner(*errand)) {
    return mps_failed("cannot become uid " + std::to_string(errand->user));
  }
  join_own_session_keyring();
  if (::chdir("/") != 0) return mps_failed("/");
  return begins ? begin_server(*errand) : end_server(*errand);
}

}  // namespace berth::daemon
