// What jobs are told of an end, or of a loss, that was not their own doing: a GPU that failed, a
// job that takes their place, memory that they took or that others took from them.
//
// Writes notes (Notes) through the keeper. Belongs to the conductor's thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/effect.hpp"
#include "live/intrusions.hpp"
#include "live/keeper.hpp"
#include "live/watcher.hpp"

namespace berth::live {

/// How the note begins of an attempt that was ended so that another job gets its place.
inline constexpr std::string_view kPreempted = "preempted";

class Reasons {
 public:
  /// Requires: both outlive it.
  Reasons(Keeper& keeper, const Watcher& watcher) : keeper_(keeper), watcher_(watcher) {}

  /// Notes the end of an attempt, with what is known of its GPUs and of why it was stopped.
  void note_end(JobId job, const Job* current, const Ending& ending);
  /// What is said already to the jobs of a GPU that failed; nothing while it is well.
  std::map<JobId, std::string> told_of(GpuId gpu) const;
  /// Tells the jobs on a GPU that failed. An Xid takes the place of what a look said of the same
  /// loss, which is in `told`.
  void note_failure(GpuId gpu, const std::map<JobId, std::string>& told);
  /// By the job that gets its place: it is held for that one until it is free.
  void note_preemption(JobId job);
  void note_overrun(const Stop& wanted);
  /// The jobs that have the GPU are told, too.
  void note_trespass(JobId job);
  void forget(JobId job) { intrusions_.forget(job); }

 private:
  std::string failed_gpus(const Job& job) const;
  const Job* find(JobId job) const { return keeper_.engine().view().find(job); }

  Keeper& keeper_;
  const Watcher& watcher_;
  Intrusions intrusions_;  ///< What the neighbours of jobs that trespassed were told.
};

}  // namespace berth::live
