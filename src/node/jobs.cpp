#include "node/jobs.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "posix/small_file.hpp"

namespace berth::node {

namespace {

constexpr std::string_view kStep = "slurmstepd";

/// The number at the beginning; nothing for 0, which is no job's.
std::optional<std::uint32_t> leading_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && number != 0 ? std::optional(number) : std::nullopt;
}

/// `a/b/c` from the left.
std::string_view next_folder(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view folder = path.substr(0, end);
  path.remove_prefix(end);
  return folder;
}

/// Whether these are the folders below which Slurm has its jobs: `slurm`, or `slurm_n1` where
/// several nodes are one machine; under systemd `system.slice/slurmstepd.scope`, or
/// `system.slice/n1_slurmstepd.scope`.
bool is_slurms(std::string_view& path) {
  const std::string_view top = next_folder(path);
  if (top == "slurm" || top.starts_with("slurm_")) return true;
  return top == "system.slice" && next_folder(path).ends_with("slurmstepd.scope");
}

std::optional<std::uint32_t> job_in_path(std::string_view path) {
  if (!is_slurms(path)) return std::nullopt;
  std::string_view folder = next_folder(path);
  if (folder.starts_with("uid_")) folder = next_folder(path);
  if (!folder.starts_with("job_")) return std::nullopt;
  return leading_number(folder.substr(4));
}

/// Every slurmstepd of root's, or of ours, and its job. Its title can be read without harm: nobody
/// but root holds up who reads it.
daemon::Shims find_steps() {
  daemon::Shims steps;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const auto pid = leading_number(entry.path().filename().string());
    if (!pid) continue;
    const auto process = static_cast<pid_t>(*pid);
    if (daemon::process_name(process) != kStep) continue;
    const auto user = daemon::process_user(process);
    if (!user || (*user != 0 && *user != ::geteuid())) continue;
    if (const auto job = slurm_job_of_title(read_small_file(entry.path().string() + "/cmdline"))) {
      steps[process] = JobId(*job);
    }
  }
  return steps;
}

}  // namespace

std::optional<std::uint32_t> slurm_job_of_cgroups(std::string_view cgroups) {
  while (!cgroups.empty()) {
    const std::size_t end = std::min(cgroups.find('\n'), cgroups.size());
    const std::string_view line = cgroups.substr(0, end);
    cgroups.remove_prefix(std::min(end + 1, cgroups.size()));
    const std::size_t path = line.find(":/");  // after the hierarchy and its controllers
    if (path == std::string_view::npos) continue;
    if (const auto job = job_in_path(line.substr(path + 1))) return job;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> slurm_job_of_title(std::string_view title) {
  constexpr std::string_view kBegin = "slurmstepd: [";
  if (!title.starts_with(kBegin)) return std::nullopt;
  return leading_number(title.substr(kBegin.size()));
}

Owner SlurmJobs::of(pid_t pid) {
  if (const auto job = slurm_job_of_cgroups(daemon::process_cgroups(pid)))
    return OfJob{JobId(*job)};
  if (!kinship_) {
    steps_ = find_steps();
    kinship_.emplace(*steps_);
  }
  return kinship_->of(pid);
}

}  // namespace berth::node
