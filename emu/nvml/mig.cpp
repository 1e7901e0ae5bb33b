// NVML entry points for MIG: instances as devices, the profiles they are cut by, and the cutting.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "emu/nvml/session.hpp"

namespace berth::emu {
namespace {

// One handle of each kind per entry: a GPU instance has at most one compute instance here, on all
// of it.
constexpr std::array<char, kMaxGpus> kGpuInstances{};
constexpr std::array<char, kMaxGpus> kComputeInstances{};

template <class Handle>
Handle handle_in(const std::array<char, kMaxGpus>& table, std::uint32_t entry) {
  return reinterpret_cast<Handle>(const_cast<char*>(&table[entry]));
}

template <class Handle>
std::uint32_t entry_in(const std::array<char, kMaxGpus>& table, Handle handle) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(table.data());
  return offset < kMaxGpus ? static_cast<std::uint32_t>(offset) : kMaxGpus;
}

NvmlResult result_of(MigEnd end) {
  switch (end) {
    case MigEnd::Done:
      return NvmlResult::Success;
    case MigEnd::BadPlace:
      return NvmlResult::InvalidArgument;
    case MigEnd::NoRoom:
      return NvmlResult::InsufficientResources;
    case MigEnd::InUse:
      return NvmlResult::InUse;
  }
  return NvmlResult::Unknown;
}

/// Runs `body(call, profiles)` on a GPU with MIG on.
template <class Body>
NvmlResult on_split(NvmlDevice device, const Body& body) {
  return on_device(device, [&](const GpuCall& call) {
    const auto profiles = mig_profiles(call.layout);
    if (is_instance(call) || profiles.empty()) return NvmlResult::NotSupported;
    return body(call, profiles);
  });
}

/// The same with the profile of this id, for those that may change something.
template <class Body>
NvmlResult as_root(NvmlDevice device, std::uint32_t profile_id, const Body& body) {
  return on_split(device, [&](const GpuCall& call, std::span<const MigProfile> profiles) {
    if (::geteuid() != 0) return NvmlResult::NoPermission;
    const auto found = std::ranges::find(profiles, profile_id, &MigProfile::id);
    return found == profiles.end() ? NvmlResult::NotSupported : body(call, *found);
  });
}

/// Runs `body(layout, instance)` on a GPU instance, for those that may change something.
template <class Body>
NvmlResult on_instance(NvmlGpuInstance handle, const Body& body) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  const auto instance = instance_at(region->layout(), entry_in(kGpuInstances, handle));
  if (!instance) return NvmlResult::InvalidArgument;
  if (::geteuid() != 0) return NvmlResult::NoPermission;
  return body(region->layout(), *instance);
}

NvmlGpuInstanceProfile info_of(const MigProfile& profile) {
  return {.id = profile.id,
          .is_p2p_supported = 0,
          .slice_count = profile.compute_slices,
          .instance_count = static_cast<std::uint32_t>(
              std::min<std::size_t>(profile.starts.size(), 7 / profile.compute_slices)),
          .multiprocessor_count = profile.multiprocessors,
          .copy_engine_count = profile.compute_slices,
          .decoder_count = 0,
          .encoder_count = 0,
          .jpeg_count = 0,
          .ofa_count = 0,
          .memory_mebibytes = profile.mebibytes};
}

/// Where it could still be made.
std::vector<std::uint32_t> free_starts(const GpuCall& call, const MigProfile& profile) {
  const auto there = instances_of(call.layout, call.index);
  std::vector<std::uint32_t> starts;
  for (const auto start : profile.starts) {
    const bool is_free = std::ranges::none_of(there, [&](const MigInstance& other) {
      return start < other.start + other.profile->memory_slices &&
             other.start < start + profile.memory_slices;
    });
    if (is_free) starts.push_back(start);
  }
  return starts;
}

NvmlResult make(const GpuCall& call, const MigProfile& profile, std::uint32_t start,
                NvmlGpuInstance* made) {
  std::uint32_t entry = 0;
  const auto end = make_instance(call.layout, call.index, profile, start, &entry);
  if (end == MigEnd::Done) *made = handle_in<NvmlGpuInstance>(kGpuInstances, entry);
  return result_of(end);
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetMigMode(NvmlDevice device, std::uint32_t* current, std::uint32_t* pending) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (current == nullptr || pending == nullptr) return NvmlResult::InvalidArgument;
    *current = *pending = 1;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetMaxMigDeviceCount(NvmlDevice device, std::uint32_t* count) {
  constexpr std::uint32_t kMost = 7;
  return answer(device, count, [](const GpuCall& call) {
    return is_instance(call) || mig_profiles(call.layout).empty() ? 0 : kMost;
  });
}

/// By place; an instance without a compute instance is no device.
NvmlResult nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice device, std::uint32_t index,
                                               NvmlDevice* found) {
  return on_split(device, [&](const GpuCall& call, std::span<const MigProfile>) {
    if (found == nullptr || index >= 7) return NvmlResult::InvalidArgument;
    auto there = instances_of(call.layout, call.index);
    std::erase_if(there, [](const MigInstance& instance) { return !instance.has_compute; });
    if (index >= there.size()) return NvmlResult::NotFound;
    *found = handle_of(there[index].entry);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetDeviceHandleFromMigDeviceHandle(NvmlDevice device, NvmlDevice* parent) {
  return on_device(device, [&](const GpuCall& call) {
    const auto instance = instance_at(call.layout, call.index);
    if (!instance || parent == nullptr) return NvmlResult::InvalidArgument;
    *parent = handle_of(instance->parent);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceIsMigDeviceHandle(NvmlDevice device, std::uint32_t* is_mig) {
  return answer(device, is_mig, [](const GpuCall& call) { return is_instance(call) ? 1U : 0U; });
}

NvmlResult nvmlDeviceGetGpuInstanceId(NvmlDevice device, std::uint32_t* id) {
  return on_device(device, [&](const GpuCall& call) {
    if (!is_instance(call)) return NvmlResult::NotSupported;
    if (id == nullptr) return NvmlResult::InvalidArgument;
    *id = call.index;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetComputeInstanceId(NvmlDevice device, std::uint32_t* id) {
  return on_device(device, [&](const GpuCall& call) {
    if (!is_instance(call)) return NvmlResult::NotSupported;
    if (id == nullptr) return NvmlResult::InvalidArgument;
    *id = 0;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetGpuInstanceProfileInfo(NvmlDevice device, std::uint32_t number,
                                               NvmlGpuInstanceProfile* info) {
  return on_split(device, [&](const GpuCall&, std::span<const MigProfile> profiles) {
    if (info == nullptr || number >= kNvmlProfiles) return NvmlResult::InvalidArgument;
    const auto found = std::ranges::find(profiles, number, &MigProfile::number);
    if (found == profiles.end()) return NvmlResult::NotSupported;
    *info = info_of(*found);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetGpuInstanceProfileInfoV(NvmlDevice device, std::uint32_t number,
                                                NvmlGpuInstanceProfileV2* info) {
  if (info != nullptr && info->version != kNvmlProfileV2Tag) {
    return NvmlResult::ArgumentVersionMismatch;
  }
  return on_split(device, [&](const GpuCall&, std::span<const MigProfile> profiles) {
    if (info == nullptr || number >= kNvmlProfiles) return NvmlResult::InvalidArgument;
    const auto found = std::ranges::find(profiles, number, &MigProfile::number);
    if (found == profiles.end()) return NvmlResult::NotSupported;
    const auto old = info_of(*found);
    *info = {.version = kNvmlProfileV2Tag,
             .id = old.id,
             .is_p2p_supported = old.is_p2p_supported,
             .slice_count = old.slice_count,
             .instance_count = old.instance_count,
             .multiprocessor_count = old.multiprocessor_count,
             .copy_engine_count = old.copy_engine_count,
             .decoder_count = 0,
             .encoder_count = 0,
             .jpeg_count = 0,
             .ofa_count = 0,
             .memory_mebibytes = old.memory_mebibytes,
             .name = {}};
    const auto name = "MIG " + std::string(found->name);
    std::ranges::copy(name, info->name);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetGpuInstancePossiblePlacements_v2(NvmlDevice device,
                                                         std::uint32_t profile_id,
                                                         NvmlPlacement* places,
                                                         std::uint32_t* count) {
  return as_root(device, profile_id, [&](const GpuCall&, const MigProfile& profile) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    const auto room = *count;
    *count = static_cast<std::uint32_t>(profile.starts.size());
    if (places == nullptr) return NvmlResult::Success;
    if (room < profile.starts.size()) return NvmlResult::InsufficientSize;
    std::ranges::transform(profile.starts, places, [&](std::uint32_t start) {
      return NvmlPlacement{.start = start, .size = profile.memory_slices};
    });
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetGpuInstancePossiblePlacements(NvmlDevice device, std::uint32_t profile_id,
                                                      NvmlPlacement* places, std::uint32_t* count) {
  return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile_id, places, count);
}

NvmlResult nvmlDeviceGetGpuInstanceRemainingCapacity(NvmlDevice device, std::uint32_t profile_id,
                                                     std::uint32_t* count) {
  return as_root(device, profile_id, [&](const GpuCall& call, const MigProfile& profile) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    *count = static_cast<std::uint32_t>(free_starts(call, profile).size());
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceCreateGpuInstanceWithPlacement(NvmlDevice device, std::uint32_t profile_id,
                                                    const NvmlPlacement* place,
                                                    NvmlGpuInstance* made) {
  return as_root(device, profile_id, [&](const GpuCall& call, const MigProfile& profile) {
    if (place == nullptr || made == nullptr) return NvmlResult::InvalidArgument;
    if (place->size != profile.memory_slices) return NvmlResult::InvalidArgument;
    return make(call, profile, place->start, made);
  });
}

/// Where the driver likes: the last free place.
NvmlResult nvmlDeviceCreateGpuInstance(NvmlDevice device, std::uint32_t profile_id,
                                       NvmlGpuInstance* made) {
  return as_root(device, profile_id, [&](const GpuCall& call, const MigProfile& profile) {
    if (made == nullptr) return NvmlResult::InvalidArgument;
    const auto starts = free_starts(call, profile);
    return starts.empty() ? NvmlResult::InsufficientResources
                          : make(call, profile, starts.back(), made);
  });
}

NvmlResult nvmlGpuInstanceDestroy(NvmlGpuInstance handle) {
  return on_instance(handle, [](Layout& layout, const MigInstance& instance) {
    return result_of(destroy_instance(layout, instance.entry));
  });
}

/// Room is not asked for: there are at most seven.
NvmlResult nvmlDeviceGetGpuInstances(NvmlDevice device, std::uint32_t profile_id,
                                     NvmlGpuInstance* found, std::uint32_t* count) {
  return as_root(device, profile_id, [&](const GpuCall& call, const MigProfile& profile) {
    if (found == nullptr || count == nullptr) return NvmlResult::InvalidArgument;
    *count = 0;
    for (const auto& instance : instances_of(call.layout, call.index)) {
      if (instance.profile->id != profile.id) continue;
      found[(*count)++] = handle_in<NvmlGpuInstance>(kGpuInstances, instance.entry);
    }
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetGpuInstanceById(NvmlDevice device, std::uint32_t id,
                                        NvmlGpuInstance* found) {
  return on_split(device, [&](const GpuCall& call, std::span<const MigProfile>) {
    if (::geteuid() != 0) return NvmlResult::NoPermission;
    if (found == nullptr) return NvmlResult::InvalidArgument;
    const auto instance = instance_at(call.layout, id);
    if (!instance || instance->parent != call.index) return NvmlResult::NotFound;
    *found = handle_in<NvmlGpuInstance>(kGpuInstances, id);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlGpuInstanceGetInfo(NvmlGpuInstance handle, NvmlGpuInstanceInfo* info) {
  return on_instance(handle, [&](Layout&, const MigInstance& instance) {
    if (info == nullptr) return NvmlResult::InvalidArgument;
    *info = {.device = handle_of(instance.parent),
             .id = instance.entry,
             .profile_id = instance.profile->id,
             .placement = {.start = instance.start, .size = instance.profile->memory_slices}};
    return NvmlResult::Success;
  });
}

/// Of the profile on all of the instance, which is the only one here.
NvmlResult nvmlGpuInstanceGetComputeInstanceProfileInfo(NvmlGpuInstance handle,
                                                        std::uint32_t number, std::uint32_t engines,
                                                        NvmlComputeInstanceProfile* info) {
  return on_instance(handle, [&](Layout&, const MigInstance& instance) {
    if (info == nullptr || engines != 0) return NvmlResult::InvalidArgument;
    const auto slices = instance.profile->compute_slices;
    const auto whole = slices == 7 ? 4U : slices - 1;  // NVML_COMPUTE_INSTANCE_PROFILE_*
    if (number != whole) return NvmlResult::NotSupported;
    *info = {.id = whole,
             .slice_count = slices,
             .instance_count = 1,
             .multiprocessor_count = instance.profile->multiprocessors,
             .shared_copy_engine_count = slices,
             .shared_decoder_count = 0,
             .shared_encoder_count = 0,
             .shared_jpeg_count = 0,
             .shared_ofa_count = 0};
    return NvmlResult::Success;
  });
}

NvmlResult nvmlGpuInstanceCreateComputeInstance(NvmlGpuInstance handle, std::uint32_t profile_id,
                                                NvmlComputeInstance* made) {
  return on_instance(handle, [&](Layout& layout, const MigInstance& instance) {
    const auto slices = instance.profile->compute_slices;
    if (made == nullptr) return NvmlResult::InvalidArgument;
    if (profile_id != (slices == 7 ? 4U : slices - 1)) return NvmlResult::NotSupported;
    const auto end = set_compute(layout, instance.entry, true);
    if (end == MigEnd::Done) {
      *made = handle_in<NvmlComputeInstance>(kComputeInstances, instance.entry);
    }
    return result_of(end);
  });
}

NvmlResult nvmlGpuInstanceGetComputeInstances(NvmlGpuInstance handle, std::uint32_t,
                                              NvmlComputeInstance* found, std::uint32_t* count) {
  return on_instance(handle, [&](Layout&, const MigInstance& instance) {
    if (found == nullptr || count == nullptr) return NvmlResult::InvalidArgument;
    *count = instance.has_compute ? 1 : 0;
    if (instance.has_compute) {
      *found = handle_in<NvmlComputeInstance>(kComputeInstances, instance.entry);
    }
    return NvmlResult::Success;
  });
}

NvmlResult nvmlComputeInstanceDestroy(NvmlComputeInstance handle) {
  const auto entry = entry_in(kComputeInstances, handle);
  if (entry >= kMaxGpus) return NvmlResult::InvalidArgument;
  return on_instance(handle_in<NvmlGpuInstance>(kGpuInstances, entry),
                     [](Layout& layout, const MigInstance& instance) {
                       if (!instance.has_compute) return NvmlResult::InvalidArgument;
                       return result_of(set_compute(layout, instance.entry, false));
                     });
}

}  // extern "C"

}  // namespace berth::emu
