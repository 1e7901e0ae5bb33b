// GPUs that are split into MIG instances.
//
// An instance is an entry of `Layout::gpus` behind the GPUs: its memory, clock and queues are its
// own, so nothing that happens on one is felt on another. The word `instance` of an entry says
// whether there is one; its configuration is written before the word, and not while it is there.
//
// The tables are those of NVIDIA's MIG user guide (profiles, their ids and legal places, memory in
// whole MiB as `nvidia-smi mig -lgip` prints it). Of H100, H200 and B200 the ids and places are
// A100's, as the guide has them; the memory of H200's and B200's profiles is the name's, rounded,
// and not from a card.
//
// Thread-safety: lock-free between processes. An entry whose maker died before it was done is free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"

namespace berth::emu {

/// One way to cut an instance. Places are memory slices, of eight.
struct MigProfile {
  std::string_view name;             // "3g.40gb"
  std::uint32_t number = 0;          // NVML_GPU_INSTANCE_PROFILE_*
  std::uint32_t id = 0;              // what a driver of this model calls it
  std::uint32_t compute_slices = 0;  // of seven
  std::uint32_t memory_slices = 0;   // of eight
  std::uint32_t multiprocessors = 0;
  std::uint64_t mebibytes = 0;
  std::span<const std::uint8_t> starts;  // legal ones, ascending
};

/// Of "a100-40", "a100", "h100", "h200" or "b200"; empty for another model.
std::span<const MigProfile> mig_profiles(std::string_view model);

/// Which of the models "h100:..." names, from 1 on; 0: none.
std::uint32_t mig_model_number(std::string_view text);

/// "h100:3g.40gb+1g.10gb", or "h100": MIG is on and there is no instance yet.
struct MigSplit {
  std::string_view model;
  std::vector<const MigProfile*> profiles;
};
Outcome<MigSplit> parse_mig(std::string_view text);

/// The profiles of the GPUs of this file; empty where MIG is off.
std::span<const MigProfile> mig_profiles(const Layout& layout);

/// An instance, wherever it is.
struct MigInstance {
  std::uint32_t entry = 0;  // of Layout::gpus
  std::uint32_t parent = 0;
  const MigProfile* profile = nullptr;
  std::uint32_t start = 0;
  bool has_compute = false;  // a compute instance on all of it: programs can use it
};

/// Entries of Layout::gpus that may be in use: the GPUs, and the instances where MIG is on.
inline std::uint32_t entries_of(const Layout& layout) {
  const auto gpus = layout.header.gpu_count < kMaxGpus ? layout.header.gpu_count : kMaxGpus;
  return layout.header.mig_model == 0 ? gpus : kMaxGpus;
}

std::optional<MigInstance> instance_at(const Layout& layout, std::uint32_t entry);
/// Of one GPU, by place.
std::vector<MigInstance> instances_of(const Layout& layout, std::uint32_t gpu);
/// "MIG-01234567-...": the same for the same GPU, profile and place.
std::string uuid_of_instance(const Layout& layout, std::uint32_t entry);

enum class MigEnd { Done, BadPlace, NoRoom, InUse };
/// Makes one at a legal place. NoRoom where it would overlap another, or the file has no entry
/// left: 16 GPUs and instances together.
MigEnd make_instance(Layout& layout, std::uint32_t gpu, const MigProfile& profile,
                     std::uint32_t start, std::uint32_t* entry);
/// InUse while a process holds memory of it, or it has its compute instance.
MigEnd destroy_instance(Layout& layout, std::uint32_t entry);
MigEnd set_compute(Layout& layout, std::uint32_t entry, bool there);

/// Legal starts for these profiles, in their order; nullopt if they do not fit together.
std::optional<std::vector<std::uint32_t>> places_for(
    const std::vector<const MigProfile*>& profiles);

}  // namespace berth::emu
