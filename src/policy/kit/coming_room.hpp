// GPUs that jobs are leaving, and the places that waiting jobs are promised there.
//
// GPU memory is not free the moment a job is told to stop, so a job that gets its place is promised
// it and starts later. A job that leaves stays on the trial, and the job promised its place is put
// beside it: nothing else is placed where the two meet. Lives for one pass; not thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/kit/vacancy.hpp"
#include "policy/policy.hpp"

namespace berth {

class ComingRoom {
 public:
  /// Requires: all four outlive it.
  ComingRoom(const ClusterView& view, const Placer& placer, Trial& trial, Vacancy& vacancy)
      : view_(view), placer_(placer), trial_(trial), vacancy_(vacancy) {}

  /// A job that stops. Requires: it holds GPUs of the view.
  void add(JobId job);
  std::span<const JobId> leaving() const { return leaving_; }

  /// Where the job fits once all that leave have left, beside what is promised; nothing if none
  /// leaves. O(leaving) and a placement.
  std::optional<Placement> place(JobId job, const Ask& ask);
  /// Whether it fits there then.
  Why look(const Placement& placement, const Ask& ask, JobId job);

  /// From now on nothing else gets this place. Requires: it fits there, as above.
  void promise(JobId job, const Ask& ask, Placement placement);
  std::span<const Hold> promised() const { return promised_; }

  /// No job is displaced in vain by one other, but by several together: what the last of them left
  /// over may be enough for a job displaced earlier too. If the job can stay where it is, and those
  /// that are promised its GPUs can go elsewhere, it leaves no more. Only where any GPU is as good
  /// as another: elsewhere the room that is free would be another, and maybe enough for a job that
  /// was refused before. Returns: whether it stays. Requires: it leaves. O(leaving + promised).
  bool spare(JobId job, const Ask& ask);

 private:
  void take_off_leaving();
  void take_off_promised();
  std::optional<std::vector<Hold>> promised_beside(JobId job, const Ask& ask);

  const ClusterView& view_;
  const Placer& placer_;
  Trial& trial_;
  Vacancy& vacancy_;
  std::vector<JobId> leaving_;
  std::vector<Hold> promised_;
};

}  // namespace berth
