// The GPUs of a machine under the numbers that they had before.
//
// A driver counts what it finds: behind a GPU that is gone, all others get other numbers. While
// jobs live on some of them those keep the numbers that the jobs know, and what is gone stays in
// the list as a GPU with a problem. Pure functions, but for the port.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/port.hpp"

namespace berth {

struct KeptGpus {
  std::vector<Device> list;  ///< As many as before; one that is gone has a problem.
  std::vector<std::optional<std::uint32_t>> numbers;  ///< The driver's now, by ours.
  std::vector<std::uint32_t> fresh;  ///< The driver's numbers of those that were not there before.
};

/// A GPU is the one before if it has its UUID and its size; where one of the two has no UUID, if it
/// has its number and nothing speaks against it. `gone`: what is said of one that is not there.
KeptGpus keep_numbers(const std::vector<Device>& before, const std::vector<Device>& now,
                      const std::string& gone);

/// True if all GPUs were there before, and some that were are not.
bool has_only_lost(const std::vector<Device>& before, const std::vector<Device>& now);

/// The same GPUs by the numbers of `kept`. `port`: null without a driver; then all are gone.
std::unique_ptr<GpuPort> under_kept_numbers(std::unique_ptr<GpuPort> port, KeptGpus kept);

}  // namespace berth
