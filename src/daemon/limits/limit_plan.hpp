// The memory limits that the tenants of a GPU should have. Pure.
#pragma once

#include <vector>

#include "core/view.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

/// The limits of one job on one GPU.
struct PlannedLimit {
  JobId job;
  Attempt attempt;
  MemoryLimits limits;
};

/// Each tenant is guaranteed its charge and may hold a margin above it: an equal part, by slots, of
/// the guard band, and no more than an equal part of what is neither charged nor foreign. So all
/// together, with foreign use, may hold no more than the GPU has, and a tenant's margin takes
/// nothing that another was granted, also before one more tenant is admitted. A tenant that asked
/// to be alone has no limit: nobody else is there.
std::vector<PlannedLimit> plan_limits(const ClusterView& view, GpuId gpu);

}  // namespace berth::daemon
