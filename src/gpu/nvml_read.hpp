// Single answers of NVML as checked values: what a driver says may be missing, refused or nonsense.
//
// Pure but for the driver's calls; from any thread. Errors name the call, the GPU and NVML's words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "gpu/nvml_api.hpp"
#include "gpu/port.hpp"

namespace berth::nvml {

/// A GPU or a MIG instance as the calls take it and as messages name it.
struct Gpu {
  Handle handle = nullptr;
  std::uint32_t index = 0;
  std::uint32_t board = 0;  ///< Of the GPU that it is, or is part of, in the driver's order.
  Handle whole = nullptr;   ///< Of an instance: the GPU that it is part of.

  bool is_instance() const { return whole != nullptr; }
};

/// `nvmlDeviceGetName on GPU 3: Insufficient Permissions`.
Error error_of(const Api& api, const char* call, std::uint32_t gpu, Result result);
/// The same for calls that are about no GPU.
Error error_of(const Api& api, const char* call, Result result);

/// "" if unknown.
std::string read_driver_version(const Api& api);

Expected<Gpu> read_handle(const Api& api, std::uint32_t board);

/// Whether it is split into MIG instances; nothing where the driver does not say.
std::optional<bool> read_mig(const Api& api, const Gpu& gpu);

/// The instances of a GPU that programs can use, by place; their indices are not set yet.
std::vector<Gpu> read_instances(const Api& api, const Gpu& whole);

/// Name, UUID, bus, MIG and memory; what is unknown stays empty. What makes it unusable is in
/// `problem`.
Device read_device(const Api& api, const Gpu& gpu);

struct Memory {
  Bytes total{0};
  Bytes reserved{0};
  Bytes used{0};

  bool operator==(const Memory&) const = default;
};

/// True if both versions of the call answer NOT_SUPPORTED, as on boards whose GPU uses the host's
/// memory.
bool hides_memory(const Api& api, const Gpu& gpu);

/// By v2, or else v1 with `reserved` 0. Sizes that cannot be are an error.
Expected<Memory> read_memory(const Api& api, const Gpu& gpu);

/// Compute, graphics and MPS processes, each pid once, ascending. Sizes above `total`, NVML's
/// "not available" among them, are unknown. An error if the compute processes cannot be listed.
Expected<std::vector<GpuProcess>> read_processes(const Api& api, const Gpu& gpu, Bytes total);

std::optional<std::uint32_t> read_utilisation(const Api& api, const Gpu& gpu);

/// What one process did in one of the driver's periods, which last up to a second.
struct ProcessUse {
  pid_t pid = 0;
  std::uint64_t time = 0;     ///< Of its end, in microseconds of the driver's clock.
  std::uint32_t percent = 0;  ///< Of the busiest of its engines.
};

/// All periods that ended after `since` and are remembered, of processes that did something; empty
/// where there is none. Nothing if the driver does not tell, as of MIG instances.
std::optional<std::vector<ProcessUse>> read_process_uses(const Api& api, const Gpu& gpu,
                                                         std::uint64_t since);

/// Millijoules since the driver was loaded. Of an instance nothing is told.
std::optional<std::int64_t> read_energy(const Api& api, const Gpu& gpu);

/// The most that a process ever held, by the driver's accounts. Sizes above `total` are unknown.
std::optional<Bytes> read_most_held(const Api& api, const Gpu& gpu, pid_t process, Bytes total);

}  // namespace berth::nvml
