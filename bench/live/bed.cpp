#include "live/bed.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace berth::bench {

namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(5);
constexpr int kMostRounds = 2000;
constexpr int kVariables = 40;
constexpr std::size_t kValue = 64;

/// The process that a folder of /proc is about, if it has the bed on its command line or in its
/// environment; else 0.
pid_t process_of(const fs::path& process, const std::string& bed) {
  const std::string name = process.filename().string();
  if (name.find_first_not_of("0123456789") != std::string::npos) return 0;
  const std::string told = slurp(process / "cmdline") + '\0' + slurp(process / "environ");
  return told.find(bed) == std::string::npos ? 0 : std::stoi(name);
}

/// Returns: how many were there.
int kill_processes_of(const std::string& bed) {
  int found = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t pid = process_of(entry.path(), bed);
    if (pid > 0 && pid != getpid() && kill(pid, SIGKILL) == 0) ++found;
  }
  return found;
}

/// The cleaning process: what was killed may have had children that are seen in the next round.
[[noreturn]] void clean_up_after(int lifeline, const std::string& bed) {
  setsid();  // what the terminal sends to end the benchmark is not for it
  char byte = 0;
  while (read(lifeline, &byte, 1) < 0 && errno == EINTR) continue;
  for (int round = 0; round < kMostRounds && kill_processes_of(bed) > 0; ++round) {
    std::this_thread::sleep_for(kPause);
  }
  std::error_code ignored;
  fs::remove_all(bed, ignored);
  _exit(0);
}

fs::path folder_of(Ground ground) {
  return ground == Ground::Memory ? fs::path("/dev/shm") : fs::temp_directory_path();
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Bed::Bed(Ground ground) : path_((folder_of(ground) / "berth-bench-XXXXXX").string()) {
  std::array<int, 2> ends{};
  if (mkdtemp(path_.data()) == nullptr || pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  cleaner_ = fork();
  if (cleaner_ < 0) std::abort();
  if (cleaner_ == 0) {
    close(ends[1]);
    clean_up_after(ends[0], path_);
  }
  close(ends[0]);
  lifeline_ = ends[1];
}

Bed::~Bed() {
  close(lifeline_);
  waitpid(cleaner_, nullptr, 0);
}

Expected<pid_t> Bed::start(const Program& program) const {
  const std::string log = *this / "log";
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto pid = spawn(program, output);
  close(output);
  return pid;
}

Expected<pid_t> Bed::spawn(const Program& program, int output) const {
  const std::vector<char*> arguments = pointers(program.words);
  const std::vector<char*> environment = pointers(program.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return fail(ErrorCode::Io, program.words[0] + ": " + std::strerror(failed));
}

Expected<Seconds> Bed::time_to_output(const Program& program) const {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::Io, "no pipe");
  const auto from = std::chrono::steady_clock::now();
  const auto pid = spawn(program, ends[1]);
  close(ends[1]);
  char byte = 0;
  const bool has_written = pid && read(ends[0], &byte, 1) == 1;
  const Seconds took = std::chrono::steady_clock::now() - from;
  if (pid) kill(*pid, SIGKILL), waitpid(*pid, nullptr, 0);
  close(ends[0]);
  if (!pid) return std::unexpected(pid.error());
  if (has_written) return took;
  return fail(ErrorCode::Conflict, program.words[0] + ": wrote nothing");
}

Expected<Seconds> Bed::run(const Program& program) const {
  const auto from = std::chrono::steady_clock::now();
  const auto pid = start(program);
  if (!pid) return std::unexpected(pid.error());
  int status = 0;
  waitpid(*pid, &status, 0);
  const Seconds took = std::chrono::steady_clock::now() - from;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return took;
  return fail(ErrorCode::Conflict, program.words[0] + " failed: " + log());
}

std::string Bed::log() const { return slurp(*this / "log"); }

Expected<void> eventually(const std::string& what, const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) {
      return fail(ErrorCode::Io, "after 30 seconds still not: " + what);
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string built(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

std::string as_installed(const std::string& name) {
  const fs::path from = built(name);
  const fs::path folder = from.parent_path() / "installed";
  fs::create_directories(folder);
  fs::copy_file(from, folder / name, fs::copy_options::overwrite_existing);
  return (folder / name).string();
}

std::string installed(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Words usual_environment() {
  Words variables = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  for (int i = 0; i < kVariables; ++i) {
    variables.push_back("VARIABLE_" + std::to_string(i) + "=" + std::string(kValue, 'v'));
  }
  return variables;
}

}  // namespace berth::bench
