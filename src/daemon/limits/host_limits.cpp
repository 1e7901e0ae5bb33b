#include "daemon/limits/host_limits.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kOwnGroup = "berthd";  ///< Below the folder, for berthd and its shims.
constexpr std::int64_t kPeriod = 100'000;         ///< Microseconds; the kernel's default.
constexpr std::int64_t kLeastQuota = 1'000;       ///< The kernel's.

constexpr auto kControllers = std::to_array<std::pair<HostLimit, std::string_view>>(
    {{HostLimit::Memory, "memory"}, {HostLimit::Cores, "cpu"}, {HostLimit::Processes, "pids"}});

/// As one write, which is how the kernel reads it.
Expected<void> write_file(const std::string& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.is_open()) return io_error(path);
  if (::write(file.number(), text.data(), text.size()) < 0) return io_error(path + ": " + text);
  return {};
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

/// Of a file with `NAME NUMBER` in each line; 0 where it has no such name.
std::int64_t number_in(const std::string& path, std::string_view name) {
  std::istringstream lines(read_small_file(path));
  std::string word;
  std::int64_t number = 0;
  while (lines >> word >> number) {
    if (word == name) return number;
  }
  return 0;
}

std::string cores_text(std::int64_t quota, std::int64_t period) {
  std::ostringstream text;
  text << static_cast<double>(quota) / static_cast<double>(period);
  return text.str() + (quota == period ? " core" : " cores");
}

std::string joined(std::string text, const std::string& more, const char* between) {
  if (more.empty()) return text;
  return text.empty() ? more : std::move(text) + between + more;
}

/// A group that has processes of its own cannot hand controllers on.
Expected<void> move_processes_below(const std::string& cgroup) {
  std::istringstream pids(read_small_file(cgroup + "/cgroup.procs"));
  const std::string group = cgroup + "/" + std::string(kOwnGroup);
  for (std::string pid; pids >> pid;) {
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return io_error(group);
    auto moved = write_file(group + "/cgroup.procs", pid);
    if (!moved && ::access(("/proc/" + pid).c_str(), F_OK) == 0) return moved;
  }
  return {};
}

}  // namespace

HostLimits::HostLimits(std::string cgroup, const std::vector<HostLimit>& allowed)
    : cgroup_(std::move(cgroup)) {
  if (cgroup_.empty()) {
    why_not_ = "`cgroup` is not set in berth.toml";
    return;
  }
  const auto moved = move_processes_below(cgroup_);
  for (const auto& [limit, controller] : kControllers) {
    const bool is_wanted = std::ranges::find(allowed, limit) != allowed.end();
    const std::string path = cgroup_ + "/cgroup.subtree_control";
    auto done = !is_wanted ? fail(ErrorCode::NotFound, "`host_limits` in berth.toml leaves it out")
                : moved    ? write_file(path, "+" + std::string(controller))
                           : Expected<void>(std::unexpected(moved.error()));
    if (done) {
      can_.push_back(limit);
    } else {
      why_not_ = joined(why_not_, std::string(word_for(limit)) + ": " + done.error().message, "; ");
    }
  }
}

std::string HostLimits::limited() const {
  std::string text;
  for (const HostLimit limit : can_) text = joined(text, std::string(word_for(limit)), ", ");
  return text;
}

Expected<void> HostLimits::set(const std::string& group, const HostAsk& asked) const {
  Expected<void> result;
  const auto write = [&](const char* file, const std::string& text) {
    auto done = write_file(group + "/" + file, text);
    if (!done && result) result = std::move(done);
  };
  for (const HostLimit limit : can_) {
    if (limit == HostLimit::Memory && asked.memory > Bytes(0)) {
      auto done = set_memory(group, asked.memory);
      if (!done && result) result = std::move(done);
    }
    if (limit == HostLimit::Cores && asked.cores > CpuMilli(0)) {
      const std::int64_t quota = std::max(kLeastQuota, asked.cores.raw() * (kPeriod / 1000));
      write("cpu.max", std::to_string(quota) + " " + std::to_string(kPeriod));
    }
    if (limit == HostLimit::Processes && asked.processes > 0) {
      write("pids.max", std::to_string(asked.processes));
    }
  }
  return result;
}

Expected<void> HostLimits::set_memory(const std::string& group, Bytes most) const {
  if (std::ranges::find(can_, HostLimit::Memory) == can_.end()) return {};
  // Without swap, which would let it use more; and whole, as half a job is of no use. Kernels that
  // have neither file do without.
  static_cast<void>(write_file(group + "/memory.swap.max", "0"));
  static_cast<void>(write_file(group + "/memory.oom.group", "1"));
  return write_file(group + "/memory.max", std::to_string(most.raw()));
}

void HostLimits::lift_memory(const std::string& group) const {
  if (std::ranges::find(can_, HostLimit::Memory) == can_.end()) return;
  static_cast<void>(write_file(group + "/memory.max", "max"));
}

std::string host_limits_text(const std::string& group) {
  std::string text;
  if (const auto memory = number_of(read_small_file(group + "/memory.max"))) {
    text = "memory " + to_text(Bytes(*memory));
  }
  const std::string quota = read_small_file(group + "/cpu.max");
  const std::size_t blank = quota.find(' ');
  if (const auto part = number_of(quota); part && blank != std::string::npos) {
    const auto period = number_of(std::string_view(quota).substr(blank + 1));
    if (period && *period > 0) text = joined(text, cores_text(*part, *period), ", ");
  }
  if (const auto processes = number_of(read_small_file(group + "/pids.max"))) {
    text = joined(text, std::to_string(*processes) + " processes", ", ");
  }
  return text;
}

std::string host_limits_told(const std::string& group) {
  if (group.empty()) return "";
  std::string text;
  if (number_in(group + "/memory.events", "oom_kill") > 0) {
    const auto most = number_of(read_small_file(group + "/memory.max"));
    text = "its host memory passed " + (most ? to_text(Bytes(*most)) + " (--mem)" : "its limit");
  }
  if (number_in(group + "/pids.events", "max") > 0) {
    const auto most = number_of(read_small_file(group + "/pids.max"));
    text = joined(text,
                  "it was refused more processes than " +
                      (most ? std::to_string(*most) + " (--pids)" : "its limit"),
                  "; ");
  }
  return text;
}

}  // namespace berth::daemon
