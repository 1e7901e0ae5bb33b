// NVML entry points for modes, sensors and clocks: plausible constants, moved a little by load.
#include <algorithm>

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

/// The idle power all the time, and the rest while kernels run.
NvmlResult nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device, unsigned long long* millijoules) {
  return on_device(device, [&](const GpuCall& call) {
    const auto& header = call.layout.header;
    if (is_instance(call) || header.has_energy == 0) return NvmlResult::NotSupported;
    if (millijoules == nullptr) return NvmlResult::InvalidArgument;
    const auto whole = monotonic_nanoseconds() - header.made_nanoseconds;
    std::uint64_t busy = GpuClock(call.layout, call.index).read().busy_nanoseconds;
    for (const auto& instance : instances_of(call.layout, call.index)) {
      busy = std::max(busy, GpuClock(call.layout, instance.entry).read().busy_nanoseconds);
    }
    constexpr std::uint64_t kNanoPerMicro = 1000;  // milliwatts times microseconds are nanojoules
    constexpr std::uint64_t kNanoPerMilli = 1000000;
    *millijoules = (whole / kNanoPerMicro * kIdleMilliwatts +
                    busy / kNanoPerMicro * (kLimitMilliwatts - kIdleMilliwatts)) /
                   kNanoPerMilli;
    return NvmlResult::Success;
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
