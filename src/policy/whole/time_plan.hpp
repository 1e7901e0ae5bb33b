// The time that a plan owes each job on each type of GPU, and the time that the job received.
//
// A plan divides the time of every type among the present jobs. Time that a job was owed and did
// not receive under one plan counts under the next. Not thread-safe.
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

class TimePlan {
 public:
  struct OnType {
    TimeShare owed;
    Duration ran{0};      ///< Since the plan was made.
    Duration lacking{0};  ///< Under the plans before; below zero if the job ran too much.
  };
  struct Standing {
    bool planned = false;  ///< A plan was made since the job arrived.
    std::vector<OnType> types;
    Duration worked{0};  ///< Since it arrived: its run time, each part at the speed of its type.
  };
  struct Memory {
    Instant made_at = kStart;
    std::int64_t jobs = 0;  ///< How many the plan was made for.
    std::map<JobId, Standing> standings;
  };

  /// Forgets jobs that are gone and adds the new ones of `jobs`, which has been brought up to date
  /// in this pass. O(running + changes); the first time O(jobs).
  void follow(const ClusterView& view, const JobList& jobs);
  /// Notes that the job ran this long on this type, at this speed.
  void add(JobId job, std::size_t type, Duration ran, Rate speed);

  bool knows(JobId job) const { return memory_.standings.contains(job); }
  /// Requires: it is known.
  bool has(JobId job) const { return memory_.standings.at(job).planned; }
  /// How long the job would have taken at full speed for what it did. Requires: it is known.
  Duration worked(JobId job) const { return memory_.standings.at(job).worked; }
  /// True if these are not the jobs of the plan and it is this old, or none of its jobs is left.
  bool is_due(std::span<const JobId> jobs, Instant now, Duration lasts) const;
  Instant made_at() const { return memory_.made_at; }

  /// What each job is owed, by type.
  using Owed = std::map<JobId, std::vector<TimeShare>>;
  /// Sets a new plan. Requires: these jobs are known.
  void make(Instant now, const Owed& owed);

  /// The positions of `jobs` by their claims on this type, best first: the least time received (and
  /// `half`, that jobs of a new plan differ by what they are owed) over time owed, then the most
  /// lacking, the largest share, the first. Jobs that are owed nothing of it come last, or not at
  /// all. O(jobs log jobs).
  enum class Unowed : std::uint8_t { Last, Never };
  struct Ranking {
    Duration half;
    Unowed unowed = Unowed::Never;
  };
  std::vector<std::size_t> by_claim(std::span<const JobId> jobs, std::size_t type,
                                    const Ranking& by) const;

  const Memory& memory() const { return memory_; }
  void remember(Memory memory) {
    memory_ = std::move(memory);
    unchecked_ = true;
  }

 private:
  Memory memory_;
  bool unchecked_ = true;  ///< As remembered: of jobs that may be gone by now.
};

/// False for an impossible plan.
bool is_sane(const TimePlan::Memory& memory);

}  // namespace berth
