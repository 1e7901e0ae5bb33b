// CUDA driver API: finding entry points by name and version, and the door of the CUDA runtime.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "emu/cuda/abi.hpp"

namespace berth::emu {

extern "C" CudaResult cuInit(unsigned flags);

namespace {

/// A base name that stands for different functions depending on the CUDA version a program was
/// built for. Newest first among those of one name.
struct Versioned {
  std::string_view base;
  int since;             // CUDA version, 1000 * major + 10 * minor
  const char* exported;  // nullptr: an interface before 3.2, with 32-bit addresses; refused
};

constexpr Versioned kVersioned[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxDestroy", 4000, "cuCtxDestroy_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2"},
    {"cuDevicePrimaryCtxSetFlags", 11000, "cuDevicePrimaryCtxSetFlags_v2"},
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {"cuDeviceTotalMem", 2000, nullptr},
    {"cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemAlloc", 2000, nullptr},
    {"cuMemAllocHost", 3020, "cuMemAllocHost_v2"},
    {"cuMemAllocHost", 2000, nullptr},
    {"cuMemAllocPitch", 3020, "cuMemAllocPitch_v2"},
    {"cuMemAllocPitch", 2000, nullptr},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemFree", 2000, nullptr},
    {"cuMemGetAddressRange", 3020, "cuMemGetAddressRange_v2"},
    {"cuMemGetAddressRange", 2000, nullptr},
    {"cuMemGetInfo", 3020, "cuMemGetInfo_v2"},
    {"cuMemGetInfo", 2000, nullptr},
    {"cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2"},
    {"cuMemcpyDtoD", 2000, nullptr},
    {"cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {"cuMemcpyDtoDAsync", 2000, nullptr},
    {"cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2"},
    {"cuMemcpyDtoH", 2000, nullptr},
    {"cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {"cuMemcpyDtoHAsync", 2000, nullptr},
    {"cuMemcpyHtoD", 3020, "cuMemcpyHtoD_v2"},
    {"cuMemcpyHtoD", 2000, nullptr},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyHtoDAsync", 2000, nullptr},
    {"cuMemsetD16", 3020, "cuMemsetD16_v2"},
    {"cuMemsetD16", 2000, nullptr},
    {"cuMemsetD32", 3020, "cuMemsetD32_v2"},
    {"cuMemsetD32", 2000, nullptr},
    {"cuMemsetD8", 3020, "cuMemsetD8_v2"},
    {"cuMemsetD8", 2000, nullptr},
    {"cuModuleGetGlobal", 3020, "cuModuleGetGlobal_v2"},
    {"cuModuleGetGlobal", 2000, nullptr},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
};

/// The address of an exported function of this library, whatever else the process has loaded.
void* exported(const char* name) {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&cuInit), &self) == 0) return nullptr;
  void* library = ::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* address = ::dlsym(library, name);
  ::dlclose(library);  // one reference less; the library stays
  Dl_info found{};
  // The search goes on in libc, which has a cuserid().
  if (address == nullptr || ::dladdr(address, &found) == 0) return nullptr;
  return found.dli_fbase == self.dli_fbase ? address : nullptr;
}

/// "cuMemAlloc_v2" is a name of the library, not of this interface, which takes base names.
bool has_version_suffix(std::string_view name) {
  return name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v' &&
         name.back() >= '0' && name.back() <= '9';
}

struct Found {
  void* address = nullptr;
  CudaLookup status = CudaLookup::SymbolNotFound;
};

Found found_if(void* address) {
  return {address, address == nullptr ? CudaLookup::SymbolNotFound : CudaLookup::Found};
}

Found look_up(std::string_view name, int version) {
  if (!name.starts_with("cu") || has_version_suffix(name)) return {};
  for (const auto& entry : kVersioned) {
    if (entry.base != name || version < entry.since) continue;
    if (entry.exported == nullptr) return {nullptr, CudaLookup::VersionNotSufficient};
    return found_if(exported(entry.exported));
  }
  return found_if(exported(std::string(name).c_str()));
}

}  // namespace

extern "C" {

CudaResult cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t,
                               CudaLookup* status) {
  if (symbol == nullptr || function == nullptr) return CudaResult::InvalidValue;
  const auto found = look_up(symbol, version);
  *function = found.address;
  if (status != nullptr) *status = found.status;
  return found.address == nullptr ? CudaResult::NotFound : CudaResult::Success;
}

CudaResult cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

/// The CUDA runtime asks here for private tables of NVIDIA's driver, which only that has.
CudaResult cuGetExportTable(const void** table, const void*) {
  static std::once_flag said;
  std::call_once(said, [] {
    std::fputs(
        "berth emulated CUDA driver: this program uses the CUDA runtime (as PyTorch and other "
        "frameworks do), which needs a real GPU; the emulator runs programs of the CUDA driver API "
        "only.\n",
        stderr);
  });
  if (table != nullptr) *table = nullptr;
  return CudaResult::NotSupported;
}

}  // extern "C"

}  // namespace berth::emu
