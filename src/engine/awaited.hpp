// Conditions on the ends of other jobs: which of them are met, and which never can be. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/conditions.hpp"

namespace berth {

/// What is known of a job that others wait for.
struct Fate {
  bool is_open = true;                            ///< It has not ended.
  std::optional<Outcome> outcome = std::nullopt;  ///< Of one that has; nothing: not known.
};
using FateOf = std::function<Fate(const Dependency& on)>;

/// A condition that can never be met.
struct Never {
  Dependency on;
  std::optional<Outcome> outcome;  ///< Of that job; nothing: not known.

  /// `job 7_1 ended as failed`, `all tasks of array 7 ended well`. `handle`: of on.job.
  std::string past(const std::string& handle) const;
  /// The same as a condition: `job 7_1 ends as failed`.
  std::string condition(const std::string& handle) const;
};

/// Drops the conditions that are met, and adds their jobs to `met`. Once one job of an array has
/// not ended well, of the rest of it any end will do. Returns: the first that can never be met.
/// Cost: O(n log n).
std::optional<Never> settle_ends(std::vector<Dependency>& after, const FateOf& fate_of,
                                 std::vector<JobId>& met);

}  // namespace berth
