#include "gpu/nvml_api.hpp"

#include <dlfcn.h>

#include <initializer_list>

namespace berth::nvml {

namespace {

/// Looks functions up in one library.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  /// Takes the first of `names` that exists; they are given newest first.
  template <class... Arguments>
  void find(Function<Arguments...>& function, std::initializer_list<const char*> names) const {
    function.name = *names.begin();
    for (const char* name : names) {
      void* const address = dlsym(library_, name);
      if (address == nullptr) continue;
      function.name = name;
      function.address = reinterpret_cast<decltype(function.address)>(address);
      return;
    }
  }

  void find_list(ListFunction& list, std::initializer_list<const char*> names) const {
    find(list.call, names);
    // Only the last, the one without a version in its name, has the short entries.
    list.has_instances = list.call.name != *(names.end() - 1);
  }

  const char* (*error_text() const)(Result) {
    return reinterpret_cast<const char* (*)(Result)>(dlsym(library_, "nvmlErrorString"));
  }

 private:
  void* library_;
};

void find_devices(const Symbols& symbols, Api& api) {
  symbols.find(api.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  symbols.find(api.handle_by_index,
               {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  symbols.find(api.name, {"nvmlDeviceGetName"});
  symbols.find(api.uuid, {"nvmlDeviceGetUUID"});
  symbols.find(api.pci,
               {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  symbols.find(api.minor_number, {"nvmlDeviceGetMinorNumber"});
  symbols.find(api.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"});
  symbols.find(api.compute_instance_id, {"nvmlDeviceGetComputeInstanceId"});
  symbols.find(api.mig_mode, {"nvmlDeviceGetMigMode"});
  symbols.find(api.profile_info, {"nvmlDeviceGetGpuInstanceProfileInfoV"});
  symbols.find(api.placements, {"nvmlDeviceGetGpuInstancePossiblePlacements_v2"});
  symbols.find(api.gpu_instances, {"nvmlDeviceGetGpuInstances"});
  symbols.find(api.create_gpu_instance, {"nvmlDeviceCreateGpuInstanceWithPlacement"});
  symbols.find(api.destroy_gpu_instance, {"nvmlGpuInstanceDestroy"});
  symbols.find(api.compute_profile_info, {"nvmlGpuInstanceGetComputeInstanceProfileInfo"});
  symbols.find(api.compute_instances, {"nvmlGpuInstanceGetComputeInstances"});
  symbols.find(api.create_compute_instance, {"nvmlGpuInstanceCreateComputeInstance"});
  symbols.find(api.destroy_compute_instance, {"nvmlComputeInstanceDestroy"});
  symbols.find(api.most_instances, {"nvmlDeviceGetMaxMigDeviceCount"});
  symbols.find(api.instance_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
}

void find_use(const Symbols& symbols, Api& api) {
  symbols.find(api.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  symbols.find(api.memory_v1, {"nvmlDeviceGetMemoryInfo"});
  symbols.find(api.utilisation, {"nvmlDeviceGetUtilizationRates"});
  symbols.find(api.process_utilisation, {"nvmlDeviceGetProcessUtilization"});
  symbols.find(api.processes_utilisation, {"nvmlDeviceGetProcessesUtilizationInfo"});
  symbols.find(api.accounting_mode, {"nvmlDeviceGetAccountingMode"});
  symbols.find(api.set_accounting_mode, {"nvmlDeviceSetAccountingMode"});
  symbols.find(api.accounting_stats, {"nvmlDeviceGetAccountingStats"});
  symbols.find(api.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  symbols.find(api.set_limits, {"nvmlDeviceSetMemoryLimits_v1"});
  symbols.find(api.get_limits, {"nvmlDeviceGetMemoryLimits_v1"});
  symbols.find_list(api.compute_processes, {"nvmlDeviceGetComputeRunningProcesses_v3",
                                            "nvmlDeviceGetComputeRunningProcesses_v2",
                                            "nvmlDeviceGetComputeRunningProcesses"});
  symbols.find_list(api.graphics_processes, {"nvmlDeviceGetGraphicsRunningProcesses_v3",
                                             "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                             "nvmlDeviceGetGraphicsRunningProcesses"});
  symbols.find_list(api.mps_processes, {"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                                        "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                                        "nvmlDeviceGetMPSComputeRunningProcesses"});
}

void find_links(const Symbols& symbols, Api& api) {
  symbols.find(api.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  symbols.find(api.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  symbols.find(api.nvlink_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
  symbols.find(api.nvlink_remote_pci,
               {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"});
}

void find_events(const Symbols& symbols, Api& api) {
  symbols.find(api.event_set_create, {"nvmlEventSetCreate"});
  symbols.find(api.event_set_free, {"nvmlEventSetFree"});
  symbols.find(api.register_events, {"nvmlDeviceRegisterEvents"});
  symbols.find(api.event_set_wait, {"nvmlEventSetWait_v2", "nvmlEventSetWait"});
}

}  // namespace

std::string Api::words(Result result) const {
  const char* const text = error_text == nullptr ? nullptr : error_text(result);
  if (text != nullptr) return text;
  if (result == Result::FunctionNotFound) return "this driver does not have it";
  return "error " + std::to_string(static_cast<int>(result));
}

Expected<Api> open_api(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(ErrorCode::NotFound, std::string("no NVIDIA driver: ") + dlerror());
  }
  const Symbols symbols(handle);
  Api api;
  symbols.find(api.init, {"nvmlInit_v2", "nvmlInit"});
  symbols.find(api.shutdown, {"nvmlShutdown"});
  symbols.find(api.driver_version, {"nvmlSystemGetDriverVersion"});
  api.error_text = symbols.error_text();
  find_devices(symbols, api);
  find_use(symbols, api);
  find_links(symbols, api);
  find_events(symbols, api);
  return api;
}

}  // namespace berth::nvml
