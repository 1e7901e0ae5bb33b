// Which GPUs a process sees and in what order, from CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::emu {

struct Candidate {
  std::string uuid;  // "GPU-...", of a MIG instance "MIG-..."
  std::uint64_t total_bytes = 0;
  std::uint32_t entry = 0;  // of Layout::gpus

  bool is_instance() const { return uuid.starts_with("MIG-"); }
};

enum class DeviceOrder { FastestFirst, PciBusId };

/// CUDA's default unless the variable says PCI_BUS_ID exactly.
DeviceOrder parse_order(std::optional<std::string_view> variable);

/// Indices into `candidates` (which are in PCI order), in the order of CUDA's ordinals.
/// `visible` absent means all. Entries are ordinals or UUID prefixes that fit one GPU; the first
/// entry that names no GPU ends the list, and an entry named twice empties it, as with CUDA.
/// A process uses one MIG instance and nothing beside it; an ordinal names one only where there is
/// no whole GPU. "Fastest" is the one with the most memory: the emulated GPUs are equally fast.
std::vector<std::uint32_t> visible_gpus(const std::vector<Candidate>& candidates,
                                        std::optional<std::string_view> visible, DeviceOrder order);

}  // namespace berth::emu
