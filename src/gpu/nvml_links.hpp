// What connects the GPUs of a machine: the bus and NVLink, as NVML tells.
#pragma once

#include <span>
#include <vector>

#include "gpu/nvml_read.hpp"

namespace berth::nvml {

/// Pairs of which something is known, ascending. O(GPUs^2 + GPUs x NVLinks) driver calls.
std::vector<Link> read_links(const Api& api, std::span<const Gpu> gpus);

}  // namespace berth::nvml
