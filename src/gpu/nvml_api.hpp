// NVML's functions as one driver has them: opened by dlopen, every one optional.
//
// A function that the driver lacks answers FunctionNotFound, as NVML itself would, so no caller
// need ask first. Of several versions the newest that is there is taken.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "gpu/nvml_abi.hpp"

namespace berth::nvml {

/// One function. `name` is the one found, or the newest if none was.
template <class... Arguments>
struct Function {
  const char* name = "";
  Result (*address)(Arguments...) = nullptr;

  explicit operator bool() const { return address != nullptr; }
  Result operator()(Arguments... arguments) const {
    return address == nullptr ? Result::FunctionNotFound : address(arguments...);
  }
};

/// A process list: of which layout its entries are goes with the version.
struct ListFunction {
  Function<Handle, std::uint32_t*, void*> call;
  bool has_instances = false;  ///< Entries are ProcessV2, else ProcessV1.
};

struct Api {
  Function<> init;
  Function<> shutdown;
  const char* (*error_text)(Result) = nullptr;
  Function<char*, std::uint32_t> driver_version;
  Function<std::uint32_t*> device_count;
  Function<std::uint32_t, Handle*> handle_by_index;
  Function<Handle, char*, std::uint32_t> name;
  Function<Handle, char*, std::uint32_t> uuid;
  Function<Handle, Pci*> pci;
  Function<Handle, std::uint32_t*> minor_number;
  Function<Handle, std::uint32_t*> gpu_instance_id;
  Function<Handle, std::uint32_t*> compute_instance_id;
  Function<Handle, MemoryV2*> memory_v2;
  Function<Handle, MemoryV1*> memory_v1;
  Function<Handle, Utilisation*> utilisation;
  Function<Handle, ProcessUtilisation*, std::uint32_t*, unsigned long long> process_utilisation;
  Function<Handle, ProcessesUtilisationInfo*> processes_utilisation;
  Function<Handle, std::uint32_t*, std::uint32_t*> mig_mode;  ///< Current, then after a reset.
  Function<Handle, std::uint32_t*> most_instances;
  Function<Handle, std::uint32_t, Handle*> instance_by_index;
  Function<Handle, std::uint32_t, GpuInstanceProfileV2*> profile_info;
  Function<Handle, std::uint32_t, Placement*, std::uint32_t*> placements;
  Function<Handle, std::uint32_t, GpuInstance*, std::uint32_t*> gpu_instances;
  Function<Handle, std::uint32_t, const Placement*, GpuInstance*> create_gpu_instance;
  Function<GpuInstance> destroy_gpu_instance;
  Function<GpuInstance, std::uint32_t, std::uint32_t, ComputeInstanceProfile*> compute_profile_info;
  Function<GpuInstance, std::uint32_t, ComputeInstance*, std::uint32_t*> compute_instances;
  Function<GpuInstance, std::uint32_t, ComputeInstance*> create_compute_instance;
  Function<ComputeInstance> destroy_compute_instance;
  Function<Handle, SetLimits*> set_limits;
  Function<Handle, GetLimits*> get_limits;
  Function<Handle, int*> accounting_mode;
  Function<Handle, int> set_accounting_mode;
  Function<Handle, std::uint32_t, AccountingStats*> accounting_stats;
  Function<Handle, unsigned long long*> energy;
  ListFunction compute_processes;
  ListFunction graphics_processes;
  ListFunction mps_processes;
  Function<Handle, Handle, int*> common_ancestor;
  Function<Handle, std::uint32_t, std::uint32_t*> nvlink_state;
  Function<Handle, std::uint32_t, std::uint32_t*> nvlink_remote_type;
  Function<Handle, std::uint32_t, Pci*> nvlink_remote_pci;
  Function<EventSet*> event_set_create;
  Function<EventSet> event_set_free;
  Function<Handle, std::uint64_t, EventSet> register_events;
  Function<EventSet, EventData*, std::uint32_t> event_set_wait;

  /// The driver's words for a result, or its number.
  std::string words(Result result) const;
};

/// Opens the library and looks every function up. It stays loaded until the process ends: drivers
/// keep threads and thread-local state, and unloading them under those is no gain.
Expected<Api> open_api(const std::string& library);

}  // namespace berth::nvml
