// A program in the kernel that keeps the processes of a cgroup v2 off some device files: they can
// neither open nor make them. Everything else stays as it was, and so do files that are open
// already.
//
// A program outlives berthd and goes with its cgroup. Plain bpf(2); only root may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth::daemon {

/// A character device, by its numbers.
struct DeviceNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  auto operator<=>(const DeviceNumber&) const = default;
};

/// Denies these devices to the processes of `group`, instead of all that was denied to it before; a
/// moment in between denies both. None: nothing is denied any more. Errors: Io, with the kernel's
/// words; then what was denied before still is.
Expected<void> deny_devices(const std::string& group, const std::vector<DeviceNumber>& denied);

/// True if a program of this kind is on the group itself.
bool has_device_program(const std::string& group);

}  // namespace berth::daemon
