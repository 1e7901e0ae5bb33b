// The free GPU capacity that a workload cannot use: the measure of Weng et al., "Beware of
// Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", ATC 2023.
//
// A workload is a set of classes of tasks with their popularity. For one class, a node's fragment
// is all its free GPU capacity if the node cannot hold the task, else the free capacity of those
// GPUs that have too little for it. The node's fragmentation is the mean over the classes, here as
// a whole number: the sum over tasks. For a class without GPUs all free capacity is a fragment, as
// in the authors' artifact.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/ask.hpp"
#include "policy/policy.hpp"

namespace berth {

inline constexpr std::int64_t kTypicalPercent = 95;  ///< As published.

/// The classes of tasks, and the number of tasks in each.
class TargetWorkload {
 public:
  struct Class {
    Request request;  ///< Without host memory, which the measure does not read.
    std::int64_t tasks = 0;
  };

  void add(const Ask& ask);
  /// Requires: it was added.
  void remove(const Ask& ask);
  void clear() { tasks_.clear(); }

  /// The most popular classes, most popular first, until they cover this part of the tasks.
  std::vector<Class> typical(std::int64_t percent = kTypicalPercent) const;

 private:
  std::map<Request, std::int64_t> tasks_;
};

/// The workload of all jobs that a view knows.
class KnownWorkload {
 public:
  /// Returns: whether it changed. O(events), or O(jobs) if they do not account for all jobs.
  bool follow(const ClusterView& view, std::span<const Event> events);
  const TargetWorkload& workload() const { return workload_; }

 private:
  bool recount(const ClusterView& view, JobId id);

  TargetWorkload workload_;
  std::map<JobId, Ask> jobs_;  ///< The jobs in it.
};

/// The free capacity of a node: cores, and a share of each GPU in thousandths.
struct FreeOnNode {
  std::int64_t cpu = 0;
  std::vector<std::int64_t> shares;  ///< In order of the GPUs' ids.
};

/// The measure for nodes whose GPUs are all of one spec.
class Fragmentation {
 public:
  Fragmentation(std::span<const TargetWorkload::Class> classes, const GpuSpec& gpu,
                GpuTypes type_bit);

  /// Thousandths of a GPU x tasks.
  std::int64_t of(const FreeOnNode& free) const;
  std::int64_t tasks() const { return tasks_; }

 private:
  /// Classes that ask for the same of the GPUs; cores ascend.
  struct Group {
    std::int64_t share = 0;
    std::int64_t gpus = 0;
    std::vector<std::int64_t> cpu;
    std::vector<std::int64_t> tasks;  ///< With so many cores or fewer.
  };

  std::int64_t tasks_ = 0;
  std::vector<Group> groups_;  ///< Of classes with GPUs that this type serves.
};

/// The free capacity of a node now.
FreeOnNode free_on(NodeId node, const Trial& trial);

/// The measure for each spec of GPU in a cluster. Requires: the GPUs of a node are of one spec.
class FragmentationBySpec {
 public:
  explicit FragmentationBySpec(std::vector<TargetWorkload::Class> classes = {})
      : classes_(std::move(classes)) {}

  /// The position of the measure for the node's GPUs; makes it if it is the first of its spec.
  std::size_t index_of(NodeId node, const Cluster& cluster);
  const Fragmentation& operator[](std::size_t index) const { return measures_[index]; }

 private:
  std::vector<TargetWorkload::Class> classes_;
  std::vector<GpuSpec> specs_;           ///< As if all were on node 0.
  std::vector<Fragmentation> measures_;  ///< By position in `specs_`.
};

/// The placement `fgd` for a workload that is known beforehand, as in the authors' experiments.
std::unique_ptr<Placer> fgd_for(const TargetWorkload& workload);

}  // namespace berth
