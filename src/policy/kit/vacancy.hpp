// Whether whole GPUs would suffice for an ask were some jobs gone: a bound without trying.
//
// Trying is dear: it takes the jobs off a trial, asks the placement, and undoes it all. Most tries
// fail because too few GPUs become vacant, in all or on any one node, and counting shows that.
// Counts one ask at a time; keeps its memory for the next. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trial.hpp"
#include "policy/policy.hpp"

namespace berth {

class Vacancy {
 public:
  /// Starts to count for this ask on what is vacant now. All three must outlive the count, and the
  /// trial stay as it is. Returns: false if vacant GPUs do not decide: the ask takes parts of GPUs.
  bool begin(const Ask& ask, const Placer& placer, const Trial& trial);

  /// One more running job is gone. Requires: it was not counted; the trial shows its grant, and
  /// no other job is promised any of it. O(GPUs).
  void leave(const Grant& grant);
  /// The same for a job that stops, whose GPUs others may be promised: those stay taken.
  void stop(const Grant& grant);

  /// The nodes that came to have enough when the last of them left, if the ask must be on one.
  std::span<const NodeId> enough() const { return enough_; }
  /// False if the ask has no place even without those that are gone. O(1).
  bool may_fit() const { return fits_node_ && vacant_ >= std::int64_t{wanted_}; }

 private:
  struct Count {
    std::uint32_t ask = 0;
    std::uint32_t vacant = 0;
  };
  void gain(NodeId node);

  const Trial* trial_ = nullptr;
  std::uint32_t wanted_ = 0;
  std::int64_t vacant_ = 0;
  bool fits_node_ = false;  ///< One has as many as must be together.
  std::uint32_t ask_ = 0;   ///< Which one, in turn: the counts of others are void.
  std::vector<Count> by_node_;
  std::vector<NodeId> enough_;
};

}  // namespace berth
