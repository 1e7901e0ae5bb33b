// NVML entry points for the memory limits of a cgroup, which drivers have from r615 on.
#include "emu/state/limits.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>

#include "emu/nvml/session.hpp"

namespace berth::emu {
namespace {

constexpr long kCgroup2 = 0x63677270;  // of statfs(2)

/// The folder as groups are named by it; "" if it is no cgroup v2.
std::string folder_of(const char* name) {
  char* const resolved = ::realpath(name, nullptr);
  if (resolved == nullptr) return "";
  std::string folder = resolved;
  std::free(resolved);
  struct stat status{};
  struct statfs system{};
  const bool is_folder = ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const bool is_emulated = std::getenv("BERTH_EMU_CGROUP") != nullptr;
  const bool is_group = is_emulated || (::statfs(folder.c_str(), &system) == 0 &&
                                        static_cast<long>(system.f_type) == kCgroup2);
  return is_folder && is_group ? folder : "";
}

enum class Who { Anyone, Root };

/// Runs `body(call, group)` where the driver is new enough, the caller may and the folder is a
/// cgroup.
template <class Limits, class Body>
NvmlResult on_group(NvmlDevice device, const Limits* limits, Who who, const Body& body) {
  return on_device(device, [&](const GpuCall& call) {
    if (!mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (call.layout.header.driver < kFirstWithLimits) return NvmlResult::NotSupported;
    if (who == Who::Root && ::geteuid() != 0) return NvmlResult::NoPermission;
    if (limits == nullptr || limits->name_space == nullptr) return NvmlResult::InvalidArgument;
    const auto folder = folder_of(limits->name_space);
    if (folder.empty()) return NvmlResult::NotFound;
    return body(call, group_of(folder));
  });
}

}  // namespace

extern "C" {

/// Sizes are rounded down to whole granules: a limit is never more than was asked for.
NvmlResult nvmlDeviceSetMemoryLimits_v1(NvmlDevice device, NvmlSetMemoryLimits* limits) {
  return on_group(device, limits, Who::Root, [&](const GpuCall& call, Group group) {
    const bool is_unbounded = limits->hard_limit == kNvmlMemoryLimitMax;
    if (!is_unbounded && limits->soft_limit > limits->hard_limit) {
      return NvmlResult::InvalidArgument;
    }
    Bounds bounds{.soft = limits->soft_limit / kGranule, .hard = std::nullopt};
    if (limits->soft_limit == kNvmlMemoryLimitMax) {
      bounds.soft = Ledger(call.layout, call.index).capacity_granules();
    }
    if (!is_unbounded) bounds.hard = limits->hard_limit / kGranule;
    return set_bounds(call.layout, group, call.index, bounds) ? NvmlResult::Success
                                                              : NvmlResult::Memory;
  });
}

NvmlResult nvmlDeviceGetMemoryLimits_v1(NvmlDevice device, NvmlGetMemoryLimits* limits) {
  return on_group(device, limits, Who::Anyone, [&](const GpuCall& call, Group group) {
    reap_dead(call.layout);
    const Ledger ledger(call.layout, call.index);
    const auto bounds = bounds_of(call.layout, group, call.index);
    limits->soft_limit = bounds.soft * kGranule;
    limits->hard_limit = bounds.hard ? *bounds.hard * kGranule : kNvmlMemoryLimitMax;
    limits->current_used =
        sum_in(call.layout, group, [&](std::uint32_t slot) { return ledger.granules_of(slot); }) *
        kGranule;
    return NvmlResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
