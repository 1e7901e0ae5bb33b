// What the agents of nodes tell of their GPUs (node/report.hpp), as looks for the conductor.
//
// The functions are pure: instants are given. Belongs to the engine's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "live/ports.hpp"
#include "node/report.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

/// What else is known of a GPU of which an agent tells.
struct Account {
  Bytes capacity{0};  ///< Its shards.
  /// What each process may hold beyond its job's shards, out of what is left out of the shards.
  Bytes context{0};
  std::map<SlurmId, Bytes> strangers = {};     ///< The shards of jobs that berth did not start.
  std::function<bool(SlurmId)> has_processes;  ///< By Slurm: what has ended holds nothing.
  std::function<Bytes(SlurmId)> granted;       ///< To a job of berth's.
};

/// A stranger's job holds its shards at least. What the shards leave out of the GPU covers contexts
/// of berth's jobs first, then what others hold. Processes have numbers that none has here.
live::Look look_of(GpuId gpu, const node::NodeGpu& told, const Account& account, Instant now);

class Gauges {
 public:
  explicit Gauges(const Cluster& cluster) : cluster_(cluster) {}

  /// A node's Extra field as it is now. Returns: GPUs of which something new was told. A report
  /// that was overdue when it was first seen is of an agent that is gone.
  std::set<GpuId> on_text(NodeId node, const std::string& text, Instant now);

  /// What was told last; null for a GPU without an agent.
  const node::NodeGpu* told(GpuId gpu) const;
  /// GPUs on which an agent saw processes of this job.
  std::set<GpuId> gpus_of(SlurmId job) const;

  /// Nodes whose agents tell, and what is wrong with others, a line each: `n3: no agent`.
  struct Voices {
    std::size_t telling = 0;
    std::size_t missing = 0;  ///< Without any agent.
    std::vector<std::string> troubles = {};
  };
  Voices voices(Instant now) const;

 private:
  struct Node {
    std::string text;
    std::string trouble;  ///< Why the text cannot be read; "" if it can.
    std::optional<node::NodeReport> report;
    Instant heard;
    bool is_old = false;  ///< It was overdue when it was first seen.
  };

  void index(NodeId node);

  const Cluster& cluster_;
  std::map<NodeId, Node> nodes_;
  std::map<GpuId, node::NodeGpu> gpus_;
  std::map<SlurmId, std::set<GpuId>> seen_;
};

}  // namespace berth::slurm
