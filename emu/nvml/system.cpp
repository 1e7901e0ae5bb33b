// NVML entry points that are about no GPU: start, end, versions, error texts.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "emu/nvml/session.hpp"
#include "emu/version.hpp"

namespace berth::emu {
namespace {

const char* text_of(NvmlResult result) {
  switch (result) {
    case NvmlResult::Success:
      return "Success";
    case NvmlResult::Uninitialized:
      return "Uninitialized";
    case NvmlResult::InvalidArgument:
      return "Invalid Argument";
    case NvmlResult::NotSupported:
      return "Not Supported";
    case NvmlResult::NoPermission:
      return "Insufficient Permissions";
    case NvmlResult::AlreadyInitialized:
      return "Already Initialized";
    case NvmlResult::NotFound:
      return "Not Found";
    case NvmlResult::InsufficientSize:
      return "Insufficient Size";
    case NvmlResult::InsufficientPower:
      return "Insufficient External Power";
    case NvmlResult::DriverNotLoaded:
      return "Driver Not Loaded";
    case NvmlResult::Timeout:
      return "Timeout";
    case NvmlResult::IrqIssue:
      return "Interrupt Request Issue";
    case NvmlResult::LibraryNotFound:
      return "NVML Shared Library Not Found";
    case NvmlResult::FunctionNotFound:
      return "Function Not Found";
    case NvmlResult::CorruptedInforom:
      return "Corrupted infoROM";
    case NvmlResult::GpuIsLost:
      return "GPU is lost";
    case NvmlResult::ResetRequired:
      return "GPU requires reset";
    case NvmlResult::OperatingSystem:
      return "GPU access blocked by the operating system";
    case NvmlResult::LibraryVersionMismatch:
      return "Driver/library version mismatch";
    case NvmlResult::InUse:
      return "In use by another client";
    case NvmlResult::Memory:
      return "Insufficient Memory";
    case NvmlResult::NoData:
      return "No data";
    case NvmlResult::InsufficientResources:
      return "Insufficient Resources";
    case NvmlResult::ArgumentVersionMismatch:
      return "Argument version mismatch";
    case NvmlResult::Unknown:
      return "Unknown Error";
  }
  return "Unknown Error";
}

/// `version(release)` of the opened state.
NvmlResult if_open(std::string (*version)(std::uint64_t), char* buffer, std::uint32_t size) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  return copy_text(version(region->layout().header.driver), buffer, size);
}

}  // namespace

extern "C" {

NvmlResult nvmlInit_v2() { return open_session(); }
NvmlResult nvmlInit() { return open_session(); }
NvmlResult nvmlInitWithFlags(std::uint32_t) { return open_session(); }
NvmlResult nvmlShutdown() { return close_session(); }

const char* nvmlErrorString(NvmlResult result) { return text_of(result); }

NvmlResult nvmlSystemGetDriverVersion(char* version, std::uint32_t length) {
  return if_open(driver_version, version, length);
}

NvmlResult nvmlSystemGetNVMLVersion(char* version, std::uint32_t length) {
  return if_open(nvml_version, version, length);
}

NvmlResult nvmlSystemGetCudaDriverVersion(int* version) {
  if (version == nullptr) return NvmlResult::InvalidArgument;
  *version = kCudaVersion;
  return NvmlResult::Success;
}

NvmlResult nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

NvmlResult nvmlSystemGetProcessName(std::uint32_t pid, char* name, std::uint32_t length) {
  if (!session()) return NvmlResult::Uninitialized;
  if (name == nullptr || length == 0) return NvmlResult::InvalidArgument;
  const int file =
      ::open(("/proc/" + std::to_string(pid) + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return NvmlResult::NotFound;
  const auto read = ::read(file, name, length - 1);  // arguments end in 0: the first is the name
  ::close(file);
  name[read > 0 ? read : 0] = '\0';
  return NvmlResult::Success;
}

}  // extern "C"

}  // namespace berth::emu
