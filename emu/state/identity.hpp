// What is fixed about an emulated GPU: names, UUIDs, bus addresses, limits. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"

namespace berth::emu {

/// The same for the same seed and index, ever.
std::array<std::uint8_t, 16> uuid_of(std::uint64_t seed, std::uint32_t index);

/// "GPU-01234567-89ab-cdef-0123-456789abcdef".
std::string format_uuid(const std::array<std::uint8_t, 16>& uuid);

/// Buses ascend with the index, so index order is PCI order.
std::uint32_t pci_bus_of(std::uint32_t index);

/// "00000000:0B:00.0" with eight digits of domain (NVML) or "0000:0B:00.0" with four (CUDA).
std::string format_bus_id(std::uint32_t bus, int domain_digits);

/// The bus of "0000:0b:00.0", "00000000:0B:00.0" or "0b:00.0"; kNoBus for anything else.
inline constexpr std::uint32_t kNoBus = ~0U;
std::uint32_t parse_bus_id(std::string_view text);

/// What the driver keeps of GPU `index`.
std::uint64_t reserved_bytes_of(const Spec& spec, std::uint32_t index);

/// NVLinks between each two GPUs.
std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> link_counts_of(const Spec& spec);

/// nullopt-like: "" when the spec can be created, else what is wrong with it.
std::string fault_of(const Spec& spec);

}  // namespace berth::emu
