// Which jobs can share GPUs, and what that is worth by the stages of their iterations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "policy/policy.hpp"
#include "policy/whole/muri_rule.hpp"

namespace berth {

/// Answers are remembered by what jobs ask for and by their models, since many are alike. Not
/// thread-safe. Requires: what it is made of outlives it, and whenever it is asked the trial is of
/// an empty cluster.
class MuriCompany {
 public:
  /// Of these jobs by position; those that are gone share with none. O(jobs log jobs).
  MuriCompany(const ClusterView& view, std::span<const JobId> jobs, const Placer& placer,
              Trial& trial);

  /// muri_gain() of the jobs at these positions; 0 if they cannot share GPUs: one is to be alone,
  /// the stages of one are unknown, or no place has room for all.
  std::int64_t gain(const MuriGroup& group, const StageFactors& factors);
  /// Whether they can, and muri_pays().
  bool pays(const MuriGroup& group, const StageFactors& factors) {
    return gain(group, factors) > 0 && muri_pays(times_, group, factors);
  }

 private:
  using Kind = std::pair<Ask, std::string>;  ///< And the model.
  using Kinds = std::array<std::size_t, kMuriMost>;
  /// Requires: all stages are known.
  bool can_share(const MuriGroup& group) const;

  const Placer& placer_;
  Trial& trial_;
  std::span<const JobId> jobs_;
  std::vector<Ask> asks_;
  std::vector<Iteration> times_;  ///< Zero where they are unknown.
  std::vector<std::size_t> kinds_;
  std::map<Kinds, std::int64_t> gains_;  ///< By kinds, which ascend.
};

/// The ask on GPUs that no other job has.
Ask unshared(Ask ask);

/// What an iteration of this job takes alone, and its stages; zero where they are unknown.
Iteration iteration_of(const ClusterView& view, const JobView& job);

/// The speed of a job beside others over alone; full where the stages of one are unknown.
Rate speed_by_stages(const ClusterView& view, JobId job, std::span<const JobId> all,
                     const StageFactors& factors);

}  // namespace berth
