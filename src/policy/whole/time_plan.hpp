// The time that a plan owes each combination of jobs on each type of GPU, and the time that it
// received.
//
// A plan divides the time of every type among combinations of the present jobs: one alone, or
// several that share all their GPUs. Time that a combination was owed and did not receive under one
// plan counts under the next, if that has the combination too. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/rate.hpp"
#include "core/view.hpp"
#include "policy/kit/job_list.hpp"

namespace berth {

/// The part of the time that a job is owed on one type of GPU: `part` / `of`, at most all of it.
struct TimeShare {
  std::int64_t part = 0;  ///< From 0 to `of`, below 2^32.
  std::int64_t of = 1;    ///< From 1 to 2^40.
};

/// Jobs that share all their GPUs; one alone, too. Ascending, and never empty.
using Combination = std::vector<JobId>;

class TimePlan {
 public:
  struct OnType {
    TimeShare owed;
    Duration ran{0};      ///< Since the plan was made.
    Duration lacking{0};  ///< Under the plans before; below zero if the job ran too much.
  };
  /// Something for each combination of which the job is the last, by the others of it; alone there
  /// are none.
  template <class What>
  using ByOthers = std::map<std::vector<JobId>, What>;
  struct Standing {
    bool planned = false;                  ///< A plan was made since the job arrived.
    ByOthers<std::vector<OnType>> beside;  ///< By type; alone is always among them.
    Duration worked{0};  ///< Since it arrived: its run time, each part at the speed it had.
  };
  struct Memory {
    Instant made_at = kStart;
    std::int64_t jobs = 0;  ///< How many the plan was made for.
    std::map<JobId, Standing> standings;
  };

  /// Forgets jobs that are gone and adds the new ones of `jobs`, which has been brought up to date
  /// in this pass. O(running + changes); the first time O(jobs).
  void follow(const ClusterView& view, const JobList& jobs);
  /// Notes that these jobs ran together for so long on this type. Without effect if no plan has
  /// them and it is not a job alone.
  void add(const Combination& jobs, std::size_t type, Duration ran);
  /// Notes that the job ran for so long at this speed.
  void add_work(JobId job, Duration ran, Rate speed);

  bool knows(JobId job) const { return memory_.standings.contains(job); }
  /// Requires: it is known.
  bool has(JobId job) const { return memory_.standings.at(job).planned; }
  /// How long the job would have taken at full speed for what it did. Requires: it is known.
  Duration worked(JobId job) const { return memory_.standings.at(job).worked; }
  /// True if these are not the jobs of the plan and it is this old, or none of its jobs is left.
  bool is_due(std::span<const JobId> jobs, Instant now, Duration lasts) const;
  /// True if it owes one of these time on a type on which that job cannot go on, as where its
  /// processes are bound to the type that they began on (Job::bound), and it is this old.
  bool is_outrun(const ClusterView& view, std::span<const JobId> jobs, Duration lasts) const;
  Instant made_at() const { return memory_.made_at; }

  /// What each job is owed alone, and each combination of which it is the last, by type. Those
  /// that are not named are owed nothing, and what they received is forgotten.
  using Owed = std::map<JobId, ByOthers<std::vector<TimeShare>>>;
  /// Sets a new plan. Requires: these jobs are known, and each is there alone.
  void make(Instant now, const Owed& owed);

  /// A combination, by its last job, which is at this position of a list.
  struct Claimant {
    std::size_t last = 0;
    const std::vector<JobId>* others = nullptr;  ///< Of this plan, until it is changed.
  };
  /// The combinations of which one of `jobs` is the last, by their claims on this type, best first:
  /// the least time received (and `half`, that those of a new plan differ by what they are owed)
  /// over time owed, then the most lacking, the largest share, the first. Those that are owed
  /// nothing of it come last, or not at all. O(combinations log combinations).
  enum class Unowed : std::uint8_t { Last, Never };
  struct Ranking {
    Duration half;
    Unowed unowed = Unowed::Never;
  };
  std::vector<Claimant> by_claim(std::span<const JobId> jobs, std::size_t type,
                                 const Ranking& by) const;
  /// What a job is owed, in all combinations together.
  struct Prospect {
    std::int32_t percent = 0;        ///< Of all time.
    std::size_t type = 0;            ///< Of which one combination is owed most,
    std::vector<JobId> beside = {};  ///< with these.
  };
  /// O(combinations).
  Prospect prospect_of(JobId job) const;

  const Memory& memory() const { return memory_; }
  void remember(Memory memory) {
    memory_ = std::move(memory);
    unchecked_ = true;
  }

 private:
  void drop_combinations(std::span<const JobId> gone);
  static void owe(std::span<const TimeShare> shares, Duration since, std::vector<OnType>& types);

  Memory memory_;
  bool unchecked_ = true;  ///< As remembered: of jobs that may be gone by now.
};

/// False for an impossible plan.
bool is_sane(const TimePlan::Memory& memory);

}  // namespace berth
