// This machine as the engine's cluster.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/cluster.hpp"
#include "gpu/port.hpp"

namespace berth {

struct MachineOptions {
  std::string name = "localhost";
  Bytes context{0};  ///< What a process costs on a GPU beside its allocations.
  std::uint16_t slots = 4;
  CpuMilli cpu = NodeShape{}.cpu;  ///< Of the whole machine, as is `host`.
  Bytes host = NodeShape{}.host;
};

/// The cluster that this machine is: GpuId i is device i, its capacity total - reserved. One node
/// if all GPUs are alike (one model, capacities within 1 %: the least counts for all), else one for
/// each run of equal ones under one switch, with its part of the cores and host memory. A GPU with
/// a problem counts as equal to its neighbours, so that a machine keeps its shape when a GPU dies;
/// the caller must give the engine GpuHealth{false} for it. A MIG instance takes one job at a time:
/// what keeps it apart from others is the hardware, and inside it there would be nothing. Links
/// between the GPUs of one node come along.
Cluster describe_machine(std::span<const Device> devices, const MachineOptions& options,
                         std::span<const Link> links = {});

}  // namespace berth
