// What the rest of berth knows of GPUs: which there are, what they hold now, what went wrong.
//
// The one door to a driver: the daemon and everything above it see this interface and nothing of
// NVML. Numbers are as the driver gave them, unrounded; probe.hpp makes inputs for the engine of
// them. What a driver may not know is an optional: unknown is never zero.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/link.hpp"

namespace berth {

/// One GPU as it is, or one MIG instance of a GPU that is split: that is a GPU of its own here.
/// `index` counts in PCI bus order, as CUDA_DEVICE_ORDER=PCI_BUS_ID does where nothing is split;
/// the instances of one GPU by their place.
struct Device {
  std::uint32_t index = 0;
  std::string name;  ///< The model, in the driver's words.
  std::string uuid;
  std::string bus_id;
  Bytes total{0};
  Bytes reserved{0};           ///< Kept by the driver; 0 where it only counts it as used.
  bool shares_memory = false;  ///< The driver tells no memory: it is the host's (host_memory.hpp).
  std::optional<bool> accounts;    ///< Whether the driver keeps accounts of ended processes.
  bool tells_process_use = false;  ///< What each of its processes did, not only what all did.
  std::optional<bool> mig;         ///< Whether it is split into MIG instances, or one of them.
  std::string mig_profile;         ///< Of an instance: "3g.40gb"; "" for a whole GPU.
  std::uint32_t board = 0;         ///< The GPU that it is, or is part of, in the driver's order.
  std::optional<std::uint32_t> minor;         ///< N of /dev/nvidiaN, of the GPU that it is part of.
  std::optional<std::uint32_t> gpu_instance;  ///< Of an instance: the driver's numbers.
  std::optional<std::uint32_t> compute_instance;
  std::string problem;   ///< Why it cannot be used; "" if it can.
  bool is_lost = false;  ///< That is because it has fallen off the bus, as the driver says.
};

struct Devices {
  std::string driver_version;  ///< "" if unknown.
  std::vector<Device> list;    ///< All, unusable ones too; list[i].index == i.
  std::vector<Link> links;     ///< Pairs of which something is known, ascending, by index.
};

/// A process with memory on a GPU. The pid is the host's, whatever our own pid namespace.
struct GpuProcess {
  pid_t pid = 0;
  std::optional<Bytes> bytes;  ///< All it holds, contexts included.
  bool is_mps_client = false;
  /// Of the time of the GPU in the last two seconds, where several processes are on it and the
  /// driver tells; what an MPS client does, its server is told to do.
  std::optional<std::uint32_t> utilisation_percent = std::nullopt;

  bool operator==(const GpuProcess&) const = default;
};

/// One GPU at one moment: total >= reserved and total >= used hold.
struct Sample {
  Bytes total{0};
  Bytes reserved{0};
  Bytes used{0};  ///< Without `reserved`, unless the driver cannot tell them apart (reserved is 0).
  std::optional<std::uint32_t> utilisation_percent;
  std::optional<std::vector<GpuProcess>> processes;  ///< Each pid once, ascending.
  std::optional<std::int64_t> millijoules;  ///< Ever taken by the GPU, since its driver was loaded.
  /// Processes of the sample before that are not there any more, with the most that each held, by
  /// the driver's accounts; none where it keeps none.
  std::vector<GpuProcess> ended = {};
  bool is_glance = false;  ///< Without energy and without what each process did.
};

/// An Xid: the driver's number for what went wrong on a GPU.
struct GpuEvent {
  std::uint32_t device = 0;
  std::uint64_t xid = 0;

  bool operator==(const GpuEvent&) const = default;
};

/// What the processes of a cgroup may hold of one GPU together, contexts included.
struct MemoryLimits {
  Bytes guaranteed{0};        ///< NVIDIA's soft limit.
  std::optional<Bytes> most;  ///< NVIDIA's hard limit; none: all there is.

  bool operator==(const MemoryLimits&) const = default;
};

/// The limits of a cgroup as the driver has them, and what it holds.
struct LimitsInForce {
  MemoryLimits limits;
  Bytes used{0};
};

/// Thread-safety: every function may be called from any thread at any time, but only one thread
/// may wait for events, and none may be in a call when the port is destroyed.
class GpuPort {
 public:
  GpuPort() = default;
  GpuPort(const GpuPort&) = delete;
  GpuPort& operator=(const GpuPort&) = delete;
  virtual ~GpuPort() = default;

  /// The GPUs of this machine. Their number and order never change in the life of a port.
  virtual Expected<Devices> devices() = 0;

  /// One GPU now. An error says that nothing is known of it, not that it is idle. Errors: Lost if
  /// the driver says that the GPU has fallen off the bus.
  virtual Expected<Sample> sample(std::uint32_t device) = 0;
  /// The same without what takes a driver milliseconds: energy, and what each process did. On an
  /// H100 these calls take 2.4 and 1.4 ms, the others 0.1 together (doc/results/gpu.md).
  virtual Expected<Sample> glance(std::uint32_t device) { return sample(device); }

  /// Sets the limits of a cgroup v2, named by its folder; {} takes them away, which must be done
  /// before the folder is removed. Only root may. Errors: NotFound if the driver has no limits, Io
  /// with its words.
  virtual Expected<void> set_limits(std::uint32_t device, const std::string& cgroup,
                                    const MemoryLimits& limits);
  /// The limits of a cgroup. Errors: as of set_limits.
  virtual Expected<LimitsInForce> limits(std::uint32_t device, const std::string& cgroup);

  /// Has the driver keep accounts of processes, until it is loaded again. Only root may. Errors:
  /// NotFound if the driver has none, Io with its words.
  virtual Expected<void> keep_accounts(std::uint32_t device);

  /// Blocks until a GPU reports an Xid, or `timeout` is over: then nothing. May return nothing
  /// earlier. An error can come at once and repeatedly: a caller that loops must pause then.
  virtual Expected<std::optional<GpuEvent>> wait_event(Duration timeout) = 0;
};

}  // namespace berth
