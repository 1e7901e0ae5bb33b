// The last gate: each decision is checked against the engine's own books, then applied.
#include <algorithm>

#include "core/text.hpp"
#include "engine/engine.hpp"

namespace berth {

bool Engine::apply(const Start& start) {
  Job* const job = state_.jobs.find(start.job);
  if (job == nullptr || job->state != JobState::Queued) return false;
  if (start.term <= Duration::zero()) return false;
  if (start.share_percent < 1 || start.share_percent > 100) return false;
  if (!grant(*job, start.placement)) return false;
  job->attempt = Attempt(job->attempt.value() + 1);
  effects_.list.push_back(Launch{.job = job->id,
                                 .attempt = job->attempt,
                                 .grant = job->grant,
                                 .term = start.term,
                                 .share_percent = start.share_percent});
  return true;
}

bool Engine::apply(const Resume& resume) {
  Job* const job = state_.jobs.find(resume.job);
  if (job == nullptr || job->state != JobState::Suspended) return false;
  if (!grant(*job, resume.placement)) return false;
  job->attempt = Attempt(job->attempt.value() + 1);  // late reports of the berth before are void
  effects_.list.push_back(Continue{job->id, job->attempt, job->grant});
  return true;
}

bool Engine::apply(const Preempt& preempt) {
  Job* const job = state_.jobs.find(preempt.job);
  if (job == nullptr) return false;
  if (job->state != JobState::Starting && job->state != JobState::Running) return false;
  ++job->preemptions;
  if (preempt.how == PreemptHow::Kill) {
    stop_for_good(*job, Outcome::Cancelled, StopFor::Preemption);
    return true;
  }
  stop(*job, preempt.how, StopFor::Preemption);
  emit(EventKind::Preempted, job->id);
  return true;
}

bool Engine::apply(const Migrate& migrate) {
  Job* const job = state_.jobs.find(migrate.job);
  if (job == nullptr || !is_well_formed(migrate.placement, *job)) return false;
  if (job->state != JobState::Starting && job->state != JobState::Running) return false;
  job->migrating = true;
  if (!state_.settings.can_suspend) ++job->preemptions;  // it loses as much by a move
  stop(*job, PreemptHow::Suspend, StopFor::Migration);
  emit(EventKind::Preempted, job->id);
  return true;
}

bool Engine::apply(const Resize&) { return false; }  // no shell can resize a job yet

bool Engine::apply(const Tune& tune) {
  const Job* const job = state_.jobs.find(tune.job);
  if (job == nullptr || job->state != JobState::Running) return false;
  effects_.list.push_back(Adjust{tune.job, tune.knob, tune.value});
  return true;
}

bool Engine::apply(const Reserve& reserve) {
  const bool valid = is_valid(reserve.holds);
  if (valid) state_.holds = reserve.holds;
  return valid;
}

bool Engine::apply(const Classify& classify) {
  Job* const job = state_.jobs.find(classify.job);
  if (job == nullptr) return false;
  if (holds_berth(job->state)) note_outlived(*job, classify.duration_class);
  job->spec.duration_class = classify.duration_class;
  emit(EventKind::Changed, job->id);
  return true;
}

bool Engine::apply(const Reject& reject) {
  Job* const job = state_.jobs.find(reject.job);
  if (job == nullptr || !is_waiting(job->state)) return false;
  job->outcome = Outcome::Rejected;
  end(*job, "job " + std::to_string(job->id.value()) + ": asks " + to_text(job->spec.request) +
                ", which has no place even on the empty cluster");
  return true;
}

}  // namespace berth
