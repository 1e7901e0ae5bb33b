// How a program outside the driver libraries makes and describes emulated GPUs: what berthd calls
// for `--emulate 2x24GiB`, and what berth-emu and the tests call. Nothing here needs a GPU or a
// driver; afterwards any process joins through the two variables of `environment`.
//
// Thread-safety: every function may be called from any thread. Functions on one path at the same
// time are safe: the file appears complete or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::emu {

inline constexpr std::uint64_t kMebibyte = 1ULL << 20;
inline constexpr std::uint64_t kGibibyte = 1ULL << 30;

/// NVLinks between two GPUs.
struct GpuLink {
  std::uint32_t one = 0;
  std::uint32_t other = 0;
  std::uint32_t count = 1;
};

struct GpuModel {
  std::string name = "Berth Emulated GPU";
  std::uint32_t speed_percent = 100;  // of kernels
  bool operator==(const GpuModel&) const = default;
};

/// What the emulated machine looks like. Sizes are bytes.
struct Spec {
  std::vector<std::uint64_t> gpu_bytes;  // total memory of each GPU, in index order
  std::vector<GpuModel> models;  // of each GPU, as both libraries answer; none: the usual one
  std::uint64_t context_bytes = 300 * kMebibyte;       // what one CUDA context takes
  std::uint64_t reserved_bytes = kReservedByDefault;   // what the driver keeps of each GPU
  std::uint64_t default_kernel_nanoseconds = 1000000;  // kernels the emulator does not know
  std::uint64_t seed = 0;                              // varies the UUIDs
  std::uint32_t interference_percent = 0;              // what kernels cost beside others: fluid.hpp
  bool has_checkpoints = true;     // the driver can suspend processes: checkpoint.hpp
  std::uint32_t driver = 580;      // the driver's release
  std::string mig;                 // "h100:3g.40gb+1g.10gb": every GPU is split so; "": MIG is off
  std::vector<GpuLink> links;      // NVLinks between GPUs
  std::uint32_t switch_links = 0;  // NVLinks of each GPU to an NVSwitch
  bool has_energy = true;          // NVML tells the energy that GPUs took
  bool keeps_accounts = false;     // NVML's accounting mode is on
  bool hides_memory = false;  // NVML does not tell the GPUs' memory, as on boards that share it
  mode_t mode = 0666;         // tenants of other users must write it

  static constexpr std::uint64_t kReservedByDefault = ~0ULL;  // a 64th of the GPU
};

template <class Value>
using Outcome = std::expected<Value, std::string>;

/// Parses "24GiB", "6G", "1.5g", "512M": powers of two whatever the spelling, a bare number is
/// bytes.
Outcome<std::uint64_t> parse_bytes(std::string_view text);

/// Parses "2s", "500ms", "30us", "100ns", "1.5m", "1h" to nanoseconds; a bare number is seconds.
Outcome<std::uint64_t> parse_nanoseconds(std::string_view text);

/// Parses "2x24GiB" or "2x24GiB,1x80GiB" to one entry per GPU.
Outcome<std::vector<std::uint64_t>> parse_gpus(std::string_view text);

/// Parses "20%" to 20: a whole number from 0 to 1000.
Outcome<std::uint32_t> parse_percent(std::string_view text);

/// Parses "615": a driver release from 450 to 999.
Outcome<std::uint32_t> parse_driver(std::string_view text);

/// Parses "yes" or "no"; true: yes.
Outcome<bool> parse_yes(std::string_view text);

/// Parses "H100+2xK80:20%" to one entry per GPU: names of at most 64 characters, and the speed of
/// their kernels from 1 to 1000 %.
Outcome<std::vector<GpuModel>> parse_models(std::string_view text);

/// Parses "shown" or "hidden"; true: hidden.
Outcome<bool> parse_memory(std::string_view text);

/// Parses "h100:3g.40gb+1g.10gb": a model with MIG and profiles of it that fit together.
Outcome<std::string> parse_mig_text(std::string_view text);

/// Parses "0-1+2-3x4" (a pair of GPUs and, behind an x, the number of NVLinks between them) or
/// "switch" (every GPU has 18 to an NVSwitch).
struct Links {
  std::vector<GpuLink> pairs;
  std::uint32_t to_switch = 0;
};
Outcome<Links> parse_links(std::string_view text);

/// Parses "2x24GiB", with any of ",interference=20%", ",driver=615", ",memory=hidden",
/// ",models=H100+K80:20%", ",mig=h100:3g.40gb+1g.10gb", ",links=0-1+2-3", ",accounting=yes",
/// ",energy=no" and ",checkpoints=no" behind.
Outcome<Spec> parse_machine(std::string_view text);

/// "24 GiB", "300 MiB", "7 B": the largest unit that divides it, else two decimals.
std::string format_bytes(std::uint64_t bytes);

/// Makes the state file at `path`. Fails when the path exists or the spec breaks a limit; the
/// message names field, value and limit.
Outcome<void> create(const std::string& path, const Spec& spec);

/// As `create`, but a usable file from this boot with the same spec is kept, tenants and all: what
/// a daemon calls at every start. A different one is replaced, unless a live process is using it:
/// then it stays. Returns: why the GPUs are others than asked for; "" if they are as asked.
Outcome<std::string> open_or_create(const std::string& path, const Spec& spec);

/// The folder with the emulated libnvidia-ml.so.1 and libcuda.so.1, found from the running
/// executable: ../emu of a build tree, ../lib/berth/emu of an installation.
Outcome<std::string> find_library_directory();

/// What a process needs in its environment to see the emulated GPUs at `path`. LD_LIBRARY_PATH
/// holds the library folder alone: prepend it to the process's own.
std::vector<std::pair<std::string, std::string>> environment(const std::string& path,
                                                             const std::string& library_directory);

/// Writes `emu.env` (to be sourced by a shell) beside `path`; returns the path of that file.
Outcome<std::string> write_environment(const std::string& path,
                                       const std::string& library_directory);

/// What a cgroup may have of a GPU, in bytes.
struct LimitReport {
  std::uint64_t group = 0;  // group_of() in state/limits.hpp
  std::uint64_t soft_bytes = 0;
  std::uint64_t hard_bytes = 0;  // ~0: no bound
  std::uint64_t used_bytes = 0;
};

/// One GPU as `berth-emu show` prints it.
struct GpuReport {
  std::string uuid;
  std::string bus_id;
  std::string model;
  std::uint64_t total_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;  // of processes, contexts included
  unsigned utilisation_percent = 0;
  bool lost = false;
  std::optional<std::uint32_t> parent;  // of a MIG instance: the GPU it is part of
  std::vector<std::pair<pid_t, std::uint64_t>> processes;  // live ones that hold memory, by pid
  std::vector<LimitReport> limits;
};

/// Reads the state at one moment per GPU; memory of dead processes is returned first.
Outcome<std::vector<GpuReport>> report(const std::string& path);

/// Injects an Xid event. 79 (the GPU fell off the bus) also loses the GPU: see `restore_gpu`.
Outcome<void> inject_xid(const std::string& path, std::uint32_t gpu, std::uint32_t xid);

/// The driver's calls about checkpoints, and what goes wrong with one of them.
enum class CheckpointCall : std::uint8_t { State, Lock, Checkpoint, Restore, Unlock, Thread };
struct CheckpointFault {
  CheckpointCall call = CheckpointCall::State;
  std::uint16_t error = 0;         // a CUresult; 0: it succeeds
  std::uint32_t delay_millis = 0;  // before it does anything
  std::uint16_t times = 1;         // how many calls; 0: none any more
  bool is_late = false;            // it does its work, and then returns the error
  std::uint8_t skip = 0;           // so many calls go well first
  static constexpr std::uint32_t kHangs = (1U << 24) - 1;   // as a delay: for ever
  static constexpr std::uint16_t kAlways = (1U << 15) - 1;  // as a number of times
};

/// "state", "lock", "checkpoint", "restore", "unlock" or "thread".
Outcome<CheckpointCall> parse_checkpoint_call(std::string_view name);

/// Makes the next calls of one kind slow, hang or fail, whoever makes them.
Outcome<void> inject_checkpoint_fault(const std::string& path, const CheckpointFault& fault);

/// How many calls of this kind are still to go wrong.
Outcome<std::uint32_t> checkpoint_faults_left(const std::string& path, CheckpointCall call);

/// Brings a lost GPU back, as a reset would.
Outcome<void> restore_gpu(const std::string& path, std::uint32_t gpu);

}  // namespace berth::emu
