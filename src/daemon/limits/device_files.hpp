// The device files of GPUs, and which of them a job may open: those of its own GPUs only.
//
// /dev/nvidiaN is a GPU, or all MIG instances of one; /dev/nvidia-caps/nvidia-capN are parts of an
// instance. What all jobs need (nvidiactl, nvidia-uvm, ...) is not touched. doc/security.md.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "daemon/limits/device_program.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

/// A device file, and the GPUs and instances of which it is a part.
struct DeviceFile {
  DeviceNumber number;
  std::set<GpuId> gpus;

  bool operator==(const DeviceFile&) const = default;
};

/// Where to look for them.
struct DeviceFolders {
  std::string nodes = "/dev";
  std::string capabilities = "/proc/driver/nvidia/capabilities";  ///< Which caps an instance has.
};

/// Those of which the numbers can be found out, each once, ascending.
std::vector<DeviceFile> find_device_files(std::span<const Device> devices,
                                          const DeviceFolders& folders);

/// Those that a job with these GPUs must not open. Pure.
std::vector<DeviceNumber> denied_to(std::span<const DeviceFile> files,
                                    std::span<const GpuId> granted);

struct DeviceRulesOptions {
  std::string cgroup;     ///< Folder of the attempts' cgroups; "" for none.
  bool is_wanted = true;  ///< By configuration.
  DeviceFolders folders;
};

/// Keeps jobs to the device files of their GPUs, by a program on each attempt's cgroup. Belongs to
/// the engine's thread.
class DeviceRules {
 public:
  /// Tries it out on a cgroup of its own.
  DeviceRules(std::span<const Device> devices, const DeviceRulesOptions& options);

  /// Why no job is kept off any device file; "" if jobs are.
  const std::string& why_not() const { return why_not_; }
  std::size_t files() const { return files_.size(); }
  /// From now on the processes in `group` can open the files of these GPUs and no others'. A job
  /// whose GPUs change needs it again. Without rules, those of a daemon before go. Errors: Io.
  Expected<void> set(const std::string& group, std::span<const GpuId> granted) const;
  /// `its GPUs' only`, of an attempt's group; "" where nothing is denied.
  std::string text_of(const std::string& group) const;

 private:
  std::string try_out(const std::string& cgroup) const;

  std::vector<DeviceFile> files_;
  std::string why_not_;
};

}  // namespace berth::daemon
