// Allocators: who is owed, alone or together, which part of the time on which type of GPU. Rounds
// make a policy of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/question.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"
#include "policy/whole/time_plan.hpp"

namespace berth {

/// A way to run jobs in a round: together on GPUs of one type.
struct Option {
  Combination jobs;
  std::uint8_t type = 0;  ///< Of Cluster::type_names().
  bool operator==(const Option&) const = default;
};
inline auto members(Option& v) { return std::tie(v.jobs, v.type); }

/// What each option is owed, or a question whose answer says it.
struct Proposal {
  std::vector<Option> options;    ///< Each once. What is not named is owed nothing.
  std::vector<TimeShare> shares;  ///< As many, unless there is a question.
  std::optional<Question> question = std::nullopt;  ///< Its first columns are the options.
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// For a new plan for these jobs. Must be a function of its arguments and of the memory. Jobs
  /// without GPUs are in every round and need no share of any type. `plan` has what they received
  /// so far, and how much work that was.
  virtual Proposal propose(const ClusterView& view, std::span<const JobId> jobs,
                           const TimePlan& plan) = 0;

  /// What these options of its last proposal with a question are owed by the answer; nothing if it
  /// is of no use. Unless it is overridden, the values of the first columns, in millionths.
  virtual std::vector<TimeShare> shares(std::span<const Option> options, const Answer& answer);

  virtual Snapshot save() const { return {}; }
  virtual Expected<void> restore(const Snapshot&) { return {}; }
};

/// The speed of a job on GPUs of one type, as many as it asks for and close together, which it
/// shares with these jobs; it may be one of them.
Rate speed_on(const ClusterView& view, const JobView& job, std::uint8_t type,
              std::span<const JobId> beside = {});

}  // namespace berth
