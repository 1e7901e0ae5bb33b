#include "daemon/limits/device_files.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr std::uint32_t kNvidia =
    195;  ///< NVIDIA's major number, as Linux's list of devices has it.

std::optional<DeviceNumber> number_of_node(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return std::nullopt;
  return DeviceNumber{gnu_dev_major(status.st_rdev), gnu_dev_minor(status.st_rdev)};
}

/// The driver makes nodes when it needs them, so one may not be there yet.
DeviceNumber number_of_gpu(std::uint32_t minor, const DeviceFolders& folders) {
  const auto found = number_of_node(folders.nodes + "/nvidia" + std::to_string(minor));
  return found.value_or(DeviceNumber{kNvidia, minor});
}

/// By a file of the driver's with a line `DeviceFileMinor: 3`.
std::optional<DeviceNumber> number_of_cap(const std::string& access, const DeviceFolders& folders) {
  constexpr std::string_view kKey = "DeviceFileMinor:";
  const std::string text = read_small_file(access);
  const std::size_t key = text.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const std::size_t digits = text.find_first_not_of(" \t", key + kKey.size());
  if (digits == std::string::npos) return std::nullopt;
  std::uint32_t minor = 0;
  const auto read = std::from_chars(text.data() + digits, text.data() + text.size(), minor);
  if (read.ec != std::errc()) return std::nullopt;
  return number_of_node(folders.nodes + "/nvidia-caps/nvidia-cap" + std::to_string(minor));
}

std::vector<DeviceNumber> caps_of(const Device& device, const DeviceFolders& folders) {
  std::vector<DeviceNumber> caps;
  if (!device.minor || !device.gpu_instance || !device.compute_instance) return caps;
  const std::string instance = folders.capabilities + "/gpu" + std::to_string(*device.minor) +
                               "/mig/gi" + std::to_string(*device.gpu_instance);
  const std::string compute = instance + "/ci" + std::to_string(*device.compute_instance);
  for (const std::string& part : {instance, compute}) {
    if (const auto cap = number_of_cap(part + "/access", folders)) caps.push_back(*cap);
  }
  return caps;
}

}  // namespace

std::vector<DeviceFile> find_device_files(std::span<const Device> devices,
                                          const DeviceFolders& folders) {
  std::map<DeviceNumber, std::set<GpuId>> files;
  for (const Device& device : devices) {
    const GpuId gpu(device.index);
    if (device.minor) files[number_of_gpu(*device.minor, folders)].insert(gpu);
    for (const DeviceNumber& cap : caps_of(device, folders)) files[cap].insert(gpu);
  }
  std::vector<DeviceFile> list;
  for (auto& [number, gpus] : files) list.push_back({number, std::move(gpus)});
  return list;
}

std::vector<DeviceNumber> denied_to(std::span<const DeviceFile> files,
                                    std::span<const GpuId> granted) {
  std::vector<DeviceNumber> denied;
  for (const DeviceFile& file : files) {
    const bool is_theirs =
        std::ranges::any_of(granted, [&](GpuId gpu) { return file.gpus.contains(gpu); });
    if (!is_theirs) denied.push_back(file.number);
  }
  return denied;
}

DeviceRules::DeviceRules(std::span<const Device> devices, const DeviceRulesOptions& options)
    : files_(find_device_files(devices, options.folders)) {
  if (!options.is_wanted) {
    why_not_ = "`device_rules` in berth.toml is false";
  } else if (options.cgroup.empty()) {
    why_not_ = "`cgroup` is not set in berth.toml, and the kernel denies files by cgroup";
  } else if (::geteuid() != 0) {
    why_not_ = "only root may, and berthd runs as uid " + std::to_string(::geteuid());
  } else if (files_.empty()) {
    why_not_ = "no device file of a GPU is known";
  } else {
    why_not_ = try_out(options.cgroup);
  }
}

std::string DeviceRules::try_out(const std::string& cgroup) const {
  const std::string trial = cgroup + "/berth-device-trial-" + std::to_string(::getpid());
  if (::mkdir(trial.c_str(), 0755) != 0 && errno != EEXIST) {
    return trial + ": " + std::strerror(errno);
  }
  const auto done = deny_devices(trial, denied_to(files_, {}));
  ::rmdir(trial.c_str());
  return done ? "" : done.error().message;
}

Expected<void> DeviceRules::set(const std::string& group, std::span<const GpuId> granted) const {
  if (group.empty()) return {};
  if (why_not_.empty()) return deny_devices(group, denied_to(files_, granted));
  return has_device_program(group) ? deny_devices(group, {}) : Expected<void>();
}

std::string DeviceRules::text_of(const std::string& group) const {
  if (group.empty() || !has_device_program(group)) return "";
  return "those of its GPUs can be opened, those of others cannot";
}

}  // namespace berth::daemon
