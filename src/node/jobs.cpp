#include "node/jobs.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "posix/small_file.hpp"
#include "shim/record.hpp"

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

std::set<std::uint32_t> slurm_jobs_here() {
  std::set<std::uint32_t> jobs;
  for (const auto& [pid, job] : find_steps()) jobs.insert(static_cast<std::uint32_t>(job.value()));
  return jobs;
}

const daemon::Shims& SlurmSteps::living() {
  std::erase_if(steps_, [&](const auto& step) {
    return shim::start_of(step.first) != std::optional(starts_.at(step.first));
  });
  return steps_;
}

bool SlurmSteps::find_for(pid_t pid) {
  constexpr auto kKept = std::chrono::minutes(1);
  const auto now = std::chrono::steady_clock::now();
  if (now - strangers_since_ > kKept) {
    strangers_.clear();
    strangers_since_ = now;
  }
  const auto start = shim::start_of(pid);
  const auto known = strangers_.find(pid);
  if (!start || (known != strangers_.end() && known->second == *start)) return false;
  strangers_[pid] = *start;  // what is not below a step now comes below none later
  steps_ = find_steps();
  starts_.clear();
  std::erase_if(steps_, [&](const auto& step) {
    const auto began = shim::start_of(step.first);
    if (began) starts_[step.first] = *began;
    return !began;
  });
  return true;
}

Owner SlurmJobs::of(pid_t pid) {
  if (const auto job = slurm_job_of_cgroups(daemon::process_cgroups(pid)))
    return OfJob{JobId(*job)};
  if (!kinship_) {
    known_ = steps_->living();
    kinship_.emplace(known_);
  }
  const Owner owner = kinship_->of(pid);
  if (!std::holds_alternative<OfStranger>(owner) || !steps_->find_for(pid)) return owner;
  known_ = steps_->living();  // its step may have begun since
  kinship_.emplace(known_);
  return kinship_->of(pid);
}

}  // namespace berth::node
