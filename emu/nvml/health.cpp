// NVML entry points for modes, sensors and clocks: plausible constants, moved a little by load.
#include "emu/nvml/session.hpp"
#include "emu/state/clock.hpp"

namespace berth::emu {
namespace {

constexpr std::uint32_t kIdleMilliwatts = 30000;
constexpr std::uint32_t kLimitMilliwatts = 300000;
constexpr std::uint32_t kIdleCelsius = 34;
constexpr std::uint32_t kMegahertz = 1400;

std::uint32_t load_of(const GpuCall& call) {
  return GpuClock(call.layout, call.index).utilisation_percent();
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetComputeMode(NvmlDevice device, int* mode) {
  return answer(device, mode, [](const GpuCall&) { return 0; });  // default: shared by all
}

NvmlResult nvmlDeviceGetPersistenceMode(NvmlDevice device, int* mode) {
  return answer(device, mode, [](const GpuCall&) { return 1; });
}

NvmlResult nvmlDeviceGetPerformanceState(NvmlDevice device, int* state) {
  return answer(device, state, [](const GpuCall&) { return 0; });
}

NvmlResult nvmlDeviceGetTemperature(NvmlDevice device, int, std::uint32_t* celsius) {
  return answer(device, celsius,
                [](const GpuCall& call) { return kIdleCelsius + load_of(call) / 3; });
}

NvmlResult nvmlDeviceGetPowerUsage(NvmlDevice device, std::uint32_t* milliwatts) {
  return answer(device, milliwatts, [](const GpuCall& call) {
    return kIdleMilliwatts + (kLimitMilliwatts - kIdleMilliwatts) / 100 * load_of(call);
  });
}

NvmlResult nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, std::uint32_t* milliwatts) {
  return answer(device, milliwatts, [](const GpuCall&) { return kLimitMilliwatts; });
}

NvmlResult nvmlDeviceGetPowerManagementLimit(NvmlDevice device, std::uint32_t* milliwatts) {
  return nvmlDeviceGetEnforcedPowerLimit(device, milliwatts);
}

NvmlResult nvmlDeviceGetClockInfo(NvmlDevice device, int, std::uint32_t* megahertz) {
  return answer(device, megahertz, [](const GpuCall&) { return kMegahertz; });
}

NvmlResult nvmlDeviceGetMaxClockInfo(NvmlDevice device, int type, std::uint32_t* megahertz) {
  return nvmlDeviceGetClockInfo(device, type, megahertz);
}

}  // extern "C"

}  // namespace berth::emu
