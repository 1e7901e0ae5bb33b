// The GPUs that berthd was given by whoever started it: by CUDA_VISIBLE_DEVICES, as another
// scheduler or an agreement between people says it, and in a container by NVIDIA_VISIBLE_DEVICES.
//
// The driver shows all of them to berthd all the same, so they are listed, under the numbers that
// nvidia-smi has for them; those that were not given take no jobs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

/// As berthd's environment has them; nothing for one that is not there, which is not "".
struct GpuVariables {
  std::optional<std::string> cuda;    ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> nvidia;  ///< NVIDIA_VISIBLE_DEVICES
  std::string order;                  ///< CUDA_DEVICE_ORDER
};

struct GivenGpus {
  std::set<GpuId> others;          ///< Those that were not given.
  std::string by;                  ///< `CUDA_VISIBLE_DEVICES=1,2`; "" where all were.
  std::vector<std::string> notes;  ///< For the administrator, a line each.
};

/// Numbers are those of nvidia-smi, of a GPU with all its MIG instances; UUIDs may be shortened. As
/// for CUDA, its list ends at the first entry that names nothing. A container that sees no more
/// GPUs than its list has was given them by its runtime already.
GivenGpus given_of(const GpuVariables& variables, const std::vector<Device>& devices);

}  // namespace berth::daemon
