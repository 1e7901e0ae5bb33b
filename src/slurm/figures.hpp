// What jobs hold of the nodes' GPU memory: as agents tell it (gauges.hpp), and of jobs that berth
// did not start, where no agent tells, their shards. The conductor is told what changed.
//
// Belongs to the engine's thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "slurm/common.hpp"
#include "slurm/gauges.hpp"

namespace berth::slurm {

class Figures {
 public:
  /// Requires: `common` outlives it.
  explicit Figures(Common& common) : common_(common) {}

  /// A node's agent may have told something else.
  void on_node(NodeId node, const std::string& extra) {
    seen_.merge(gauges_.on_text(node, extra, common_.now()));
  }
  /// What Slurm tells of a job has changed.
  void on_job(SlurmId job) { seen_.merge(gauges_.gpus_of(job)); }
  /// A job that berth did not start.
  void count_stranger(const JobRecord& job);
  void on_gone(SlurmId job) {
    strangers_.erase(job);
    on_job(job);
  }
  /// Tells the conductor of all GPUs with other figures than before.
  void tell();

  /// What `doctor` says of it.
  nlohmann::json memory_check() const;

 private:
  void tell_strangers();
  void look_at(GpuId gpu);
  Bytes granted(SlurmId job, GpuId gpu) const;

  Common& common_;
  Gauges gauges_{common_.cluster};
  std::set<GpuId> seen_;                                 ///< Of which there is something to tell.
  std::map<SlurmId, std::map<GpuId, Bytes>> strangers_;  ///< What jobs not started by berth hold.
  std::map<GpuId, Bytes> foreign_;                       ///< What was told of that.
};

}  // namespace berth::slurm
