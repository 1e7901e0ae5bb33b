#include "cli/tell/written_files.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "shim/proc.hpp"

namespace berth::cli {

namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code gone;
  for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end;
       at.increment(gone)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && rest == name.data() + name.size()) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

bool is_of(pid_t pid, const std::string& job) {
  constexpr std::size_t kMost = std::size_t{256} << 10;
  const std::string environment = '\0' + shim::read_proc(pid, "environ", kMost);
  return environment.contains(std::string(1, '\0') + "BERTH_JOB_ID=" + job + '\0');
}

std::string program_of(pid_t pid) {
  constexpr std::size_t kMost = 64;
  const std::string name = shim::read_proc(pid, "comm", kMost);
  return name.substr(0, name.find('\n'));
}

}  // namespace

std::vector<WrittenFile> files_written_by(const std::string& job) {
  std::vector<WrittenFile> files;
  for (const pid_t pid : all_processes()) {
    if (!is_of(pid, job)) continue;
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      const std::string path = shim::name_of(pid, stream);
      const bool is_known = std::ranges::find(files, path, &WrittenFile::path) != files.end();
      if (shim::may_be_file(path) && !is_known) files.push_back({path, program_of(pid)});
    }
  }
  return files;
}

}  // namespace berth::cli
