// The run times that duration classes stand for, and when a job joins another class.
#pragma once

#include "core/job.hpp"

namespace berth {

/// The default bounds of the duration classes.
struct ClassBounds {
  Duration short_bound = minutes(15);
  Duration medium_bound = hours(4);
};

/// The bound on the run time of a class; kForever for long jobs and services.
constexpr Duration bound_of(DurationClass of, const ClassBounds& bounds) {
  switch (of) {
    case DurationClass::Short:
      return bounds.short_bound;
    case DurationClass::Medium:
      return bounds.medium_bound;
    case DurationClass::Long:
    case DurationClass::Service:
      return kForever;
  }
  return kForever;
}

/// The class of a job that was of class `was` and has run for `ran`: the first class whose bound is
/// not exceeded.
constexpr DurationClass class_after(DurationClass was, Duration ran, const ClassBounds& bounds) {
  if (was == DurationClass::Short && ran > bounds.short_bound) was = DurationClass::Medium;
  if (was == DurationClass::Medium && ran > bounds.medium_bound) was = DurationClass::Long;
  return was;
}

/// The run time of a long job of which nothing more is known.
inline constexpr Duration kUsualLongRun = hours(24);

/// False if nothing is said of its run time and nothing learned: the class medium is that of jobs
/// that state none.
inline bool is_run_known(const JobView& job) {
  return job.estimate() != kForever || job.duration_class() != DurationClass::Medium;
}

/// The whole run time of a job of this class: by its limit or estimate, else the bound of the
/// class, else a day.
inline Duration supposed_run(const JobView& job, DurationClass of, const ClassBounds& bounds) {
  if (job.estimate() != kForever) return job.estimate();
  const Duration bound = bound_of(of, bounds);
  return bound == kForever ? kUsualLongRun : bound;
}

/// Remaining run time by the limit, else by an estimate that is not yet exceeded, else by the
/// class. It is a prediction unless it is the limit; kForever for a long job without either.
inline Duration expected(const JobView& job, const ClassBounds& bounds) {
  if (job.enforced() != kForever) return job.enforced();
  if (job.spec().estimate != kForever && job.remaining() > Duration::zero()) return job.remaining();
  const Duration bound = bound_of(class_after(job.duration_class(), job.ran(), bounds), bounds);
  return bound == kForever ? kForever : bound - job.ran();
}

}  // namespace berth
