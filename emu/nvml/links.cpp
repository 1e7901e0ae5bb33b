// NVML entry points about NVLink: which links a GPU has, and what is at their other ends.
#include <optional>

#include "emu/nvml/session.hpp"

namespace berth::emu {
namespace {

constexpr std::uint32_t kLinksOfModel = 18;
constexpr std::uint32_t kRemoteGpu = 0;
constexpr std::uint32_t kRemoteSwitch = 2;
constexpr std::uint32_t kSwitchBus = 0xf0;

/// The other end of a link: a GPU, or nothing for an NVSwitch.
using End = std::optional<std::uint32_t>;

/// Links to GPUs come first, by the index of the GPU; then those to the switch.
std::optional<End> end_of(const GpuCall& call, std::uint32_t link) {
  const auto& header = call.layout.header;
  for (std::uint32_t other = 0; other < call.gpu_count; ++other) {
    const std::uint32_t count = header.links[call.index][other];
    if (link < count) return End(other);
    link -= count;
  }
  if (link < header.switch_links) return End();
  return std::nullopt;
}

/// Runs `body` on the other end of an active link of a whole GPU.
template <class Body>
NvmlResult on_link(NvmlDevice device, std::uint32_t link, const Body& body) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call)) return NvmlResult::NotSupported;
    if (link >= kLinksOfModel) return NvmlResult::InvalidArgument;
    const auto end = end_of(call, link);
    return end ? body(call, *end) : NvmlResult::NotSupported;
  });
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetNvLinkState(NvmlDevice device, std::uint32_t link,
                                    std::uint32_t* is_active) {
  return on_link(device, link, [&](const GpuCall&, const End&) {
    if (is_active == nullptr) return NvmlResult::InvalidArgument;
    *is_active = 1;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice device, std::uint32_t link,
                                               std::uint32_t* type) {
  return on_link(device, link, [&](const GpuCall&, const End& end) {
    if (type == nullptr) return NvmlResult::InvalidArgument;
    *type = end ? kRemoteGpu : kRemoteSwitch;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, std::uint32_t link,
                                               NvmlPciInfo* info) {
  return on_link(device, link, [&](const GpuCall& call, const End& end) {
    if (info == nullptr) return NvmlResult::InvalidArgument;
    *info = NvmlPciInfo{};
    info->bus = end ? call.layout.gpus[*end].config.pci_bus : kSwitchBus;
    return NvmlResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
