#include "emu/load/driver_api.hpp"

#include <dlfcn.h>

namespace berth::emu {
namespace {

/// Looks symbols up and remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function& function) {
    void* address = ::dlsym(library_, name);
    if (address == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(address);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Outcome<DriverApi> open_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(std::string(::dlerror()));
  DriverApi api;
  Symbols symbols(library);
  symbols.find("cuInit", api.init);
  symbols.find("cuDeviceGet", api.device_get);
  symbols.find("cuDeviceGetCount", api.device_get_count);
  symbols.find("cuDeviceGetName", api.device_get_name);
  symbols.find("cuCtxCreate_v2", api.context_create);
  symbols.find("cuCtxSetCurrent", api.context_set_current);
  symbols.find("cuCtxSynchronize", api.context_synchronize);
  symbols.find("cuMemAlloc_v2", api.memory_allocate);
  symbols.find("cuMemFree_v2", api.memory_free);
  symbols.find("cuMemGetInfo_v2", api.memory_get_info);
  symbols.find("cuMemsetD8_v2", api.memory_set);
  symbols.find("cuMemcpyDtoH_v2", api.memory_read);
  symbols.find("cuModuleLoadData", api.module_load_data);
  symbols.find("cuModuleGetFunction", api.module_get_function);
  symbols.find("cuLaunchKernel", api.launch_kernel);
  symbols.find("cuEventCreate", api.event_create);
  symbols.find("cuEventRecord", api.event_record);
  symbols.find("cuEventSynchronize", api.event_synchronize);
  symbols.find("cuEventElapsedTime", api.event_elapsed_time);
  symbols.find("cuGetErrorName", api.get_error_name);
  symbols.find("cuGetErrorString", api.get_error_string);
  if (!symbols.missing().empty()) {
    return std::unexpected("libcuda.so.1 has no " + symbols.missing());
  }
  return api;
}

std::string describe(const DriverApi& api, int result) {
  const char* name = nullptr;
  const char* text = nullptr;
  api.get_error_name(result, &name);
  api.get_error_string(result, &text);
  return std::string(name == nullptr ? "CUDA error " + std::to_string(result) : name) + ": " +
         (text == nullptr ? "no text" : text);
}

}  // namespace berth::emu
