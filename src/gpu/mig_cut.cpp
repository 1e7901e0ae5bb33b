#include "gpu/mig_cut.hpp"

#include <string.h>

#include <algorithm>
#include <array>
#include <optional>

#include "gpu/mig_plan.hpp"
#include "gpu/nvml_read.hpp"

namespace berth {

namespace {

using nvml::Result;

constexpr std::uint32_t kMostProfiles = 64;  // NVML_GPU_INSTANCE_PROFILE_COUNT is 18 today
constexpr std::uint32_t kMostPlaces = 64;
constexpr std::uint32_t kMostCut = 64;  // of one profile; seven today
constexpr std::uint32_t kComputeProfiles = 16;

/// An instance that is there.
struct Present {
  nvml::GpuInstance handle = nullptr;
  std::uint32_t profile_id = 0;
};

/// One GPU with MIG on, through its driver.
class Board {
 public:
  Board(const nvml::Api& api, const nvml::Gpu& gpu) : api_(api), gpu_(gpu) {}

  MigCut cut(std::span<const std::string> names);

 private:
  Error error(const char* call, Result result) const {
    return nvml::error_of(api_, call, gpu_.board, result);
  }
  MigCut came_to(MigCut::What what, const std::string& why = "") const {
    return {.board = gpu_.board, .what = what, .why = why};
  }
  void read_shapes();
  Expected<std::vector<MigShape>> find(std::span<const std::string> names) const;
  Expected<std::vector<Present>> instances() const;
  Expected<void> destroy(const Present& present) const;
  Expected<void> create(const MigShape& shape, std::uint32_t start) const;
  Expected<void> create_compute(nvml::GpuInstance instance, const MigShape& shape) const;

  const nvml::Api& api_;
  const nvml::Gpu gpu_;
  std::vector<MigShape> shapes_;
};

/// `MIG 1g.10gb+me` of the second version, or the name that follows from slices and memory.
std::string name_of(const nvml::GpuInstanceProfileV2& profile) {
  constexpr std::string_view kMark = "MIG ";
  const std::string name(profile.name, ::strnlen(profile.name, sizeof profile.name));
  return name.starts_with(kMark) ? name.substr(kMark.size()) : name;
}

/// Profiles that the driver does not tell the name or the places of are left out.
void Board::read_shapes() {
  for (std::uint32_t number = 0; number < kMostProfiles; ++number) {
    nvml::GpuInstanceProfileV2 profile{.version = nvml::kProfileV2Tag};
    const Result told = api_.profile_info(gpu_.handle, number, &profile);
    if (told == Result::InvalidArgument || told == Result::FunctionNotFound) break;
    if (told != Result::Success) continue;
    std::array<nvml::Placement, kMostPlaces> places{};
    std::uint32_t count = places.size();
    const Result placed = api_.placements(gpu_.handle, profile.id, places.data(), &count);
    if (placed != Result::Success || count == 0 || count > places.size()) continue;
    MigShape shape{.name = name_of(profile),
                   .profile_id = profile.id,
                   .compute_slices = profile.slices,
                   .size = places.front().size,
                   .starts = {}};
    for (std::uint32_t i = 0; i < count; ++i) shape.starts.push_back(places[i].start);
    std::ranges::sort(shape.starts);
    shapes_.push_back(std::move(shape));
  }
}

Expected<std::vector<MigShape>> Board::find(std::span<const std::string> names) const {
  std::vector<MigShape> found;
  for (const std::string& name : names) {
    const auto shape = std::ranges::find(shapes_, name, &MigShape::name);
    if (shape == shapes_.end()) {
      std::string all;
      for (const MigShape& known : shapes_) all += (all.empty() ? "" : ", ") + known.name;
      return fail(ErrorCode::InvalidArgument,
                  "it has no profile " + name + "; it has " + (all.empty() ? "none" : all));
    }
    found.push_back(*shape);
  }
  return found;
}

Expected<std::vector<Present>> Board::instances() const {
  std::vector<Present> present;
  for (const MigShape& shape : shapes_) {
    std::array<nvml::GpuInstance, kMostCut> handles{};
    std::uint32_t count = 0;
    const Result result = api_.gpu_instances(gpu_.handle, shape.profile_id, handles.data(), &count);
    if (result != Result::Success) {
      return std::unexpected(error(api_.gpu_instances.name, result));
    }
    for (std::uint32_t i = 0; i < std::min(count, kMostCut); ++i) {
      present.push_back({.handle = handles[i], .profile_id = shape.profile_id});
    }
  }
  return present;
}

Expected<void> Board::destroy(const Present& present) const {
  for (std::uint32_t profile = 0; profile < kComputeProfiles; ++profile) {
    std::array<nvml::ComputeInstance, kMostCut> handles{};
    std::uint32_t count = 0;
    const Result listed = api_.compute_instances(present.handle, profile, handles.data(), &count);
    if (listed != Result::Success) continue;  // it has no such profile
    for (std::uint32_t i = 0; i < std::min(count, kMostCut); ++i) {
      const Result gone = api_.destroy_compute_instance(handles[i]);
      // Some drivers list all of an instance's under each profile.
      if (gone != Result::Success && gone != Result::InvalidArgument) {
        return std::unexpected(error(api_.destroy_compute_instance.name, gone));
      }
    }
  }
  const Result gone = api_.destroy_gpu_instance(present.handle);
  if (gone == Result::Success) return {};
  return std::unexpected(error(api_.destroy_gpu_instance.name, gone));
}

Expected<void> Board::create(const MigShape& shape, std::uint32_t start) const {
  const nvml::Placement place{.start = start, .size = shape.size};
  nvml::GpuInstance made = nullptr;
  const Result result = api_.create_gpu_instance(gpu_.handle, shape.profile_id, &place, &made);
  if (result != Result::Success)
    return std::unexpected(error(api_.create_gpu_instance.name, result));
  return create_compute(made, shape);
}

/// One on all of the instance's compute slices; without it programs cannot use the instance.
Expected<void> Board::create_compute(nvml::GpuInstance instance, const MigShape& shape) const {
  for (std::uint32_t number = 0; number < kComputeProfiles; ++number) {
    nvml::ComputeInstanceProfile profile{};
    const Result told = api_.compute_profile_info(instance, number, 0, &profile);
    if (told != Result::Success || profile.slices != shape.compute_slices) continue;
    nvml::ComputeInstance made = nullptr;
    const Result result = api_.create_compute_instance(instance, profile.id, &made);
    if (result == Result::Success) return {};
    return std::unexpected(error(api_.create_compute_instance.name, result));
  }
  return fail(ErrorCode::NotFound, "GPU " + std::to_string(gpu_.board) + ": " + shape.name +
                                       " has no compute instance of its " +
                                       std::to_string(shape.compute_slices) + " slices");
}

MigCut Board::cut(std::span<const std::string> names) {
  if (nvml::read_mig(api_, gpu_) != true) return came_to(MigCut::What::Off);
  read_shapes();
  const auto wanted = find(names);
  if (!wanted) return came_to(MigCut::What::Failed, wanted.error().message);
  const auto starts = pack_mig(*wanted);
  if (!starts) return came_to(MigCut::What::Failed, "these instances do not fit together");
  const auto there = instances();
  if (!there) return came_to(MigCut::What::Failed, there.error().message);
  std::vector<std::uint32_t> has;
  std::vector<std::uint32_t> wants;
  for (const Present& present : *there) has.push_back(present.profile_id);
  for (const MigShape& shape : *wanted) wants.push_back(shape.profile_id);
  std::ranges::sort(has);
  std::ranges::sort(wants);
  if (has == wants) return came_to(MigCut::What::Kept);
  for (const nvml::Gpu& instance : nvml::read_instances(api_, gpu_)) {
    const auto memory = nvml::read_memory(api_, instance);
    const auto processes = nvml::read_processes(api_, instance, memory ? memory->total : Bytes(0));
    if (!processes) return came_to(MigCut::What::Failed, processes.error().message);
    if (!processes->empty()) {
      return came_to(MigCut::What::InUse,
                     "process " + std::to_string(processes->front().pid) + " uses it");
    }
  }
  for (const Present& present : *there) {
    if (const auto gone = destroy(present); !gone) {
      return came_to(MigCut::What::Failed, gone.error().message);
    }
  }
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    if (const auto made = create((*wanted)[i], (*starts)[i]); !made) {
      return came_to(MigCut::What::Failed, made.error().message);
    }
  }
  return came_to(MigCut::What::Cut);
}

}  // namespace

Expected<std::vector<MigCut>> cut_mig(const std::string& library,
                                      std::span<const std::string> profiles) {
  const auto api = nvml::open_api(library);
  if (!api) return std::unexpected(api.error());
  if (const Result result = api->init(); result != Result::Success) {
    return std::unexpected(nvml::error_of(*api, api->init.name, result));
  }
  std::uint32_t count = 0;
  const Result counted = api->device_count(&count);
  std::vector<MigCut> cuts;
  for (std::uint32_t board = 0; counted == Result::Success && board < count; ++board) {
    const auto gpu = nvml::read_handle(*api, board);
    if (gpu) {
      cuts.push_back(Board(*api, *gpu).cut(profiles));
    } else {
      cuts.push_back({.board = board, .what = MigCut::What::Failed, .why = gpu.error().message});
    }
  }
  api->shutdown();
  if (counted != Result::Success) {
    return std::unexpected(nvml::error_of(*api, api->device_count.name, counted));
  }
  return cuts;
}

}  // namespace berth
