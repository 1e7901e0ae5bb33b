// The part of a cluster's GPUs that a job takes while it runs, whatever place it gets.
#pragma once

#include <vector>

#include "core/cluster.hpp"
#include "core/job.hpp"

namespace berth::sim {

/// In GPUs, over all GPUs that the job asks for. One that is alone on its GPUs takes each whole.
struct Demand {
  double slots = 0;    ///< One place of those that a GPU has.
  double compute = 0;  ///< The share that it asks for; none is stated: 0.
  double memory = 0;   ///< Its charge.

  /// Its dominant share (Ghodsi et al., NSDI 2011).
  double largest() const;
};

class Demands {
 public:
  explicit Demands(const Cluster& cluster);

  /// On GPUs of which it takes the smallest part: in no place does it take less. As admission
  /// charges it at submission; without an amount of memory it takes its GPUs whole. O(kinds of
  /// GPU).
  Demand of(const JobSpec& spec) const;

 private:
  std::vector<GpuSpec> kinds_;  ///< One of each that differ in slots, memory or sharing.
};

}  // namespace berth::sim
