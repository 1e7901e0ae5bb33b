// The GPUs a daemon serves: the machine's own, or emulated ones it makes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "daemon/settings/options.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

struct Machine {
  std::unique_ptr<GpuPort> port;  ///< Null on a machine without a driver: it has no GPUs.
  Devices devices;
  Cluster cluster;
  std::string no_driver;  ///< Why `port` is null.
  bool emulated = false;
  std::string nvml;                ///< Library that was opened.
  std::string mps_control;         ///< Program; "" where there is none.
  std::string cuda;                ///< Library of the CUDA driver, for helpers to open.
  std::vector<std::string> notes;  ///< What is otherwise than before or than asked.
  std::string no_accounts;         ///< Why the driver was asked for accounts and keeps none.
  std::string no_suspension;       ///< Why jobs cannot be suspended; "" if they can.
  /// Variables with which a job sees the GPUs; LD_LIBRARY_PATH goes before the job's own.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Errors: what is wrong with `emulate`, or with the library that was named. A machine without
/// NVIDIA's library is no error: it runs jobs that need no GPU.
Expected<Machine> open_machine(const Options& options);

/// Has the GPUs of a start before under their numbers then, and that cluster: jobs live there. What
/// is otherwise now is in `notes`.
void keep_gpus(Machine& machine, const std::vector<Device>& before, const Cluster& cluster);

/// Host memory that programs can have without swapping: MemAvailable of /proc/meminfo.
Bytes available_memory();

/// Host memory that suspended jobs may take together.
Bytes room_for_suspended(const Options& options, const Machine& machine);

/// What the machine calls itself; `localhost` if it has no name.
std::string host_name();

}  // namespace berth::daemon
