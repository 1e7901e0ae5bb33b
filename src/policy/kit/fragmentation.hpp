// How much of the free GPUs a workload cannot use: the measure of Weng et al., "Beware of
// Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", ATC 2023.
//
// A workload is classes of tasks and how popular each is. For one class, a node's fragment is all
// that is free of its GPUs if the node cannot hold the task, else what is free of those GPUs of
// which too little is. The node's fragmentation is the mean over the classes, here kept as a whole
// number: the sum over tasks. A class without GPUs makes all that is free a fragment, as in the
// authors' artifact.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/ask.hpp"
#include "policy/policy.hpp"

namespace berth {

inline constexpr std::int64_t kTypicalPercent = 95;  ///< As published.

/// Which tasks there are, and how many of each class.
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

/// What is free on a node: cores, and of each GPU a share in thousandths.
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

/// The placement `fgd` for a workload that is known beforehand, as in the authors' experiments.
std::unique_ptr<Placer> fgd_for(const TargetWorkload& workload);

}  // namespace berth
