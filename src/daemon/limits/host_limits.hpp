// Host memory, cores and processes of a job, limited by the kernel in the attempt's cgroup v2.
//
// What a job asked for is set before its first process; the kernel does the rest, also while no
// berthd runs. Belongs to the engine's thread; all calls are small files of the kernel's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace berth::daemon {

/// What the kernel can limit, as `host_limits` in berth.toml names it.
enum class HostLimit : std::uint8_t { Memory, Cores, Processes };
constexpr auto words_of(HostLimit) {
  return std::to_array<std::string_view>({"memory", "cores", "processes"});
}

/// What a job asked for; 0: no limit.
struct HostAsk {
  Bytes memory{0};
  CpuMilli cores{0};
  std::int64_t processes = 0;

  bool operator==(const HostAsk&) const = default;
};

class HostLimits {
 public:
  /// Hands the controllers of `cgroup`, the folder of all attempts' groups, on to these; "" is
  /// none. The processes in `cgroup` itself move to a group below it, as the kernel demands.
  HostLimits(std::string cgroup, const std::vector<HostLimit>& allowed);

  /// Why the kernel limits some or all of it for no job; "" if it limits all.
  const std::string& why_not() const { return why_not_; }
  /// `memory, cores, processes`: what can be limited; "" for nothing.
  std::string limited() const;
  /// Limits the processes of an attempt's group. Errors: Io naming the file; the others are set.
  Expected<void> set(const std::string& group, const HostAsk& asked) const;
  /// The same of its memory alone. A job that is suspended has none: what it held on GPUs comes to
  /// its own processes' memory.
  Expected<void> set_memory(const std::string& group, Bytes most) const;
  void lift_memory(const std::string& group) const;

 private:
  std::string cgroup_;
  std::vector<HostLimit> can_;
  std::string why_not_;
};

/// `memory 8 GiB, 2 cores, 100 processes`: what is set on a group; "" where nothing is.
std::string host_limits_text(const std::string& group);

/// What the limits of a group did to its processes, for the user: `its host memory passed 8 GiB`;
/// "" where they did nothing.
std::string host_limits_told(const std::string& group);

}  // namespace berth::daemon
