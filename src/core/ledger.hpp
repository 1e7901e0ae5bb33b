// The charges in force: the engine's record of the grants. A policy gets trials of it, never the
// ledger.
#pragma once

#include <cstdint>

#include "core/occupancy.hpp"
#include "core/trial.hpp"

namespace berth {

class Ledger {
 public:
  Ledger(const Cluster& cluster, const Admission& admission)
      : use_(cluster, admission), scratch_{use_, {}} {}

  const Occupancy& use() const { return use_; }

  /// A trial overlay. Requires: no other trial of this ledger is open.
  Trial trial(const Cluster& cluster) const { return Trial(cluster, scratch_); }

  void put(const Cluster& cluster, const Grant& grant);
  void take(const Cluster& cluster, const Grant& grant);
  /// Changes the charge of one share of a grant (a charge that grew).
  void grow(const Cluster& cluster, const Share& from, Bytes to);
  void set_gpu(const Cluster& cluster, GpuId id, const GpuUse& use);
  void set_node(NodeId id, const NodeUse& use);
  void set_admission(const Cluster& cluster, const Admission& admission);

  /// True if no trial left a change. O(GPUs); for tests.
  bool is_in_step() const { return use_ == scratch_.use && scratch_.log.empty(); }

  /// Grows whenever more might fit than before.
  std::uint64_t room_version() const { return room_version_; }
  /// Grows whenever what GPUs and nodes can take changes, berths aside: with their health, foreign
  /// use, the rules of admission and, where these go by it, the memory in use.
  std::uint64_t condition_version() const { return condition_version_; }

 private:
  Occupancy use_;
  mutable Scratch scratch_;  ///< Its use equals use_ whenever no trial is open.
  std::uint64_t room_version_ = 0;
  std::uint64_t condition_version_ = 1;
};

}  // namespace berth
