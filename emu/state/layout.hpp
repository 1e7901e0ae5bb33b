// What lies in the emulator's shared-memory file.
//
// Invariants: fields of `Header` and `GpuConfig` never change after creation, except `slot_high`,
// which only grows, and the configuration of a MIG instance, which is made with it. Everything else
// is a lock-free 64-bit word or smaller, zero in a fresh file, written so that a process may die or
// be stopped between any two instructions: no other process waits for it, and what it leaves is a
// state the others read as if it had never begun or as done.
// There is no lock in the file: a tenant stopped by SIGSTOP would hold it for minutes.
//
// A slot is one process. Index i of every per-slot array belongs to the process in `owners[i]`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace berth::emu {

inline constexpr std::uint64_t kMagic = 0x554d454854524542;  // "BERTHEMU" in little-endian bytes
inline constexpr std::uint32_t kLayoutVersion = 7;
inline constexpr std::uint32_t kMaxGpus = 16;
inline constexpr std::uint32_t kSlots = 1024;
inline constexpr std::uint32_t kEventRing = 256;
inline constexpr std::uint32_t kBusySamples = 8;
inline constexpr std::uint32_t kLimits = 1024;   // cgroups with a limit
inline constexpr std::uint32_t kAccounts = 256;  // processes of a GPU that are remembered
inline constexpr std::uint32_t kDepth = 16;      // levels of cgroups that count
/// Memory moves between processes and a GPU in pieces of this size, as it does on real ones.
inline constexpr std::uint64_t kGranule = 2ULL << 20;

using SharedWord = std::atomic<std::uint64_t>;
using SharedFutex = std::atomic<std::uint32_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == 8);
static_assert(SharedFutex::is_always_lock_free && sizeof(SharedFutex) == 4);

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t gpu_count;
  std::uint64_t file_bytes;  // size of Layout when the file was made
  std::uint64_t default_kernel_nanoseconds;
  std::uint64_t seed;
  std::uint64_t driver;           // the driver's release, as 580
  std::array<char, 40> boot_id;   // process start times mean nothing after a reboot
  std::uint32_t has_checkpoints;  // whether the driver can checkpoint processes
  std::uint32_t mig_model;        // 0: MIG is off; else which one's profiles: mig.hpp
  std::array<char, 96> mig;       // how the GPUs were split when the file was made
  std::uint32_t switch_links;     // NVLinks of each GPU to an NVSwitch
  std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> links;  // NVLinks between two GPUs
  std::uint32_t has_energy;        // whether NVML tells the energy of GPUs
  std::uint64_t made_nanoseconds;  // CLOCK_MONOTONIC when the file was made
  SharedFutex keeps_accounts;      // 1: NVML's accounting mode is on
  SharedWord slot_high;            // one more than the highest slot ever taken
};

struct GpuConfig {
  std::uint64_t total_bytes;
  std::uint64_t reserved_bytes;
  std::uint64_t context_bytes;
  std::array<char, 96> name;
  std::array<std::uint8_t, 16> uuid;
  std::uint32_t pci_bus;
  std::uint32_t interference_percent;
  std::uint32_t speed_percent;   // how fast kernels run
  std::uint32_t hides_memory;    // 1: NVML does not tell the GPU's memory
  std::uint32_t compute_slices;  // of seven that a MIG instance has; 0: it is a whole GPU
};

/// A published point of a GPU's clock (see clock.hpp). Each slot owns two per GPU and writes only
/// the one that is not published.
struct ClockRecord {
  SharedWord virtual_nanoseconds;
  SharedWord real_nanoseconds;
  SharedWord busy_nanoseconds;
  SharedWord sample_count;
  std::array<SharedWord, kBusySamples> sample_real;
  std::array<SharedWord, kBusySamples> sample_busy;
};

/// What the driver remembers of a process on a GPU, also after its end: see accounts.hpp.
struct AccountRecord {
  SharedWord owner;  // process key; 0: free
  SharedWord most;   // granules
};

struct GpuState {
  GpuConfig config;
  SharedWord instance;                       // of an entry for a MIG instance: see mig.hpp
  SharedFutex lost;                          // 1 after Xid 79
  SharedFutex signal;                        // futex that waiters for this GPU sleep on
  SharedWord ledger;                         // the last memory change: see ledger.hpp
  SharedWord clock;                          // which ClockRecord is published: see clock.hpp
  std::array<SharedWord, kSlots> usage;      // granules and change number
  std::array<SharedWord, kSlots> finish;     // virtual time at which the slot's queue is empty
  std::array<SharedWord, kSlots> submitted;  // kernel time ever queued, nanoseconds
  SharedWord next_account;                   // number of the next record
  std::array<AccountRecord, kAccounts> accounts;
  std::array<std::array<ClockRecord, 2>, kSlots> records;
};

/// How a process stands with the driver's checkpoints: see checkpoint.hpp.
struct CheckpointSlot {
  SharedFutex state;                       // a ProcessState
  SharedFutex signal;                      // futex that calls wait on while the process is locked
  SharedFutex calls;                       // driver calls in progress
  SharedFutex moves;                       // times that a restore put it on other GPUs
  std::array<SharedWord, kMaxGpus> saved;  // granules of each GPU that are in host memory
  std::array<SharedWord, kMaxGpus> home;   // GPU + 1 that stands for this one; 0: itself
};

/// A client of an MPS server: see mps.hpp. Of a process without MPS only `fault` is used.
struct MpsSlot {
  SharedWord server;                        // 0: none
  std::array<SharedWord, kMaxGpus> limits;  // granules + 1 of an entry; 0: none
  SharedFutex percentage;                   // of a GPU's threads; 0: all
  SharedFutex fault;                        // 1 after a fatal fault
};

struct EventLog {
  SharedFutex signal;  // futex that event waiters sleep on
  std::uint32_t padding;
  SharedWord next;                             // number of the next event
  std::array<SharedWord, kEventRing> entries;  // number + 1, GPU and Xid of one event, packed
};

/// What one cgroup may have: see limits.hpp. A free entry has only zeros.
struct Limit {
  SharedWord group;
  std::array<SharedWord, kMaxGpus> soft;  // granules
  std::array<SharedWord, kMaxGpus> hard;  // granules + 1; 0: none
};

struct Layout {
  Header header;
  EventLog events;
  SharedWord last_patrol;                 // of the last search for dead processes, CLOCK_MONOTONIC
  std::array<SharedWord, kSlots> owners;  // process keys, 0 when free: see process.hpp
  std::array<CheckpointSlot, kSlots> checkpoints;
  std::array<MpsSlot, kSlots> mps;
  std::array<SharedWord, 8> checkpoint_faults;                // by CheckpointCall, packed
  std::array<std::array<SharedWord, kDepth>, kSlots> groups;  // cgroups of a slot, from the root on
  std::array<Limit, kLimits> limits;
  std::array<GpuState, kMaxGpus> gpus;
};

}  // namespace berth::emu
