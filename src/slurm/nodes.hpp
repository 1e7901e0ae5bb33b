// The cluster as Slurm's nodes make it: each node with typed shards is a node, each type of shard a
// GPU of as many GiB.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "core/job.hpp"
#include "gpu/port.hpp"
#include "slurm/records.hpp"
#include "slurm/texts.hpp"

namespace berth::slurm {

/// The nodes of `before` come first, in the same order, for jobs there keep their places: also
/// those that Slurm no longer has, and with the cores and host memory that they had.
/// Errors: BadData for a node whose indices are not 0, 1, 2, ... or whose GPUs differ in memory;
/// NotFound where no node has typed shards.
Expected<Cluster> cluster_of(const std::vector<NodeRecord>& nodes, std::uint16_t slots,
                             const std::optional<Cluster>& before = std::nullopt);

/// What job_submit.lua refuses more than: lines such as `gib 80`, of the largest GPU, and
/// `gpus 32`, of all nodes.
std::string limits_of(const Cluster& cluster);

/// Its GPUs for users: `n3:5`.
std::vector<Device> devices_of(const Cluster& cluster);

std::optional<NodeId> node_named(const Cluster& cluster, std::string_view name);

/// What Slurm is to be asked for so that a job gets exactly this grant.
struct Place {
  std::string nodes;  ///< `n1,n2`.
  std::uint32_t node_count = 1;
  std::string gres;  ///< "" for a job without GPUs.
  std::string text;  ///< `n1:0,n1:1`.
};
/// Errors: Conflict where Slurm cannot be asked for that: on several nodes the indices and the
/// amounts must be the same on each.
Expected<Place> place_of(const Grant& grant, const Cluster& cluster);

/// The types of GPU, as a set, whose indices these shards have. A job that was let run once keeps
/// its indices: Slurm adds what is asked later to what was asked before.
GpuTypes types_of(const Shards& shards, const Cluster& cluster);

/// What a job of Slurm's own holds, by GPU.
std::map<GpuId, Bytes> held_by(const JobRecord& job, const Cluster& cluster);

/// GPUs that a job was granted on the nodes where Slurm runs it, and of which it holds no shard:
/// `n1:0,n1:1`; "" if there are none. Slurm 22.05 begins some jobs so. What Slurm does not tell is
/// not missing: it tells of all nodes of a job, or of none where the job holds nothing.
std::string missing_from(const JobRecord& job, const Grant& grant, const Cluster& cluster);

}  // namespace berth::slurm
