// Which two jobs of a list can share GPUs, and how fast they are then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "policy/whole/time_plan.hpp"

namespace berth {

/// Two jobs can share GPUs if they ask for as many, neither is to be alone or states no memory, an
/// idle GPU has the memory for both, and it was measured how fast each is beside the other. Whether
/// they may sit there now is for admission to say. Not thread-safe. Requires: what it is made of
/// outlives it.
class Pairs {
 public:
  /// O(jobs log jobs + GPUs).
  Pairs(const ClusterView& view, std::span<const JobId> jobs);

  std::size_t types() const { return largest_.size(); }
  /// Of the jobs at these positions, whatever their speeds: on GPUs of this type, of any type.
  bool can_share(std::size_t one, std::size_t other, std::uint8_t type) const;
  bool can_share(std::size_t one, std::size_t other) const;
  /// The speed of the job at position `one`, beside that at `other` over alone; nothing if they
  /// cannot share GPUs of this type. O(log models).
  std::optional<Rate> beside(std::size_t one, std::size_t other, std::uint8_t type);
  /// The sum of both, in millionths; 0 if they cannot share GPUs of this type.
  std::int64_t gain(std::size_t one, std::size_t other, std::uint8_t type);

  /// The two at these positions.
  Combination both(std::size_t one, std::size_t other) const {
    return {std::min(jobs_[one], jobs_[other]), std::max(jobs_[one], jobs_[other])};
  }

 private:
  using Kind = std::pair<std::string, std::int64_t>;  ///< Model and GPUs.

  const ClusterView& view_;
  std::span<const JobId> jobs_;
  std::vector<Ask> asks_;
  std::vector<std::size_t> kind_of_;
  std::vector<Kind> kinds_;
  std::vector<const GpuSpec*> largest_;  ///< By type; null: there is none.
  std::map<std::tuple<std::size_t, std::size_t, std::uint8_t>, std::optional<Rate>> known_;
};

}  // namespace berth
