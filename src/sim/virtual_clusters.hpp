// Virtual clusters: each has nodes of its own and a scheduler of its own, as in Philly and Helios.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// The trace and the cluster to divide.
struct Workplace {
  const trace::Trace& trace;
  const Cluster& cluster;
};

struct VirtualCluster {
  std::string name;  ///< As the trace names the user.
  std::uint32_t nodes = 0;
};

/// A CSV of two columns, names and numbers of nodes; a first line that has no number there is a
/// header. Errors: BadData naming file and line, also for a name that comes twice.
Expected<std::vector<VirtualCluster>> read_virtual_clusters(std::string_view text,
                                                            std::string_view file);

/// simulate() with a fresh policy.
using RunPart = std::function<Expected<Result>(const trace::Trace& trace, const Cluster& cluster,
                                               const Options& options)>;

/// Runs each virtual cluster's jobs on its nodes, dealt in the cluster's order, and puts the runs
/// together. Jobs of a user without a virtual cluster are rejected. Requires: neither predictions
/// nor power are asked for. Errors: those of a run, naming the virtual cluster; InvalidArgument if
/// they need more nodes than there are, or have no job.
Expected<Result> simulate_apart(const Workplace& whole, std::span<const VirtualCluster> parts,
                                const Options& options, const RunPart& run);

}  // namespace berth::sim
