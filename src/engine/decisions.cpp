// The last gate: each decision is checked against the engine's own books, then applied.
#include <algorithm>

#include "core/text/text.hpp"
#include "engine/engine.hpp"

namespace berth {

bool Engine::apply(const Start& start) {
  Job* const job = state_.jobs.find(start.job);
  if (job == nullptr || start.term <= Duration::zero()) return false;
  if (start.milli < GpuMilli(0) || start.milli > kWholeGpu) return false;
  if (start.share != ShareMode::TimeSlice && start.share != ShareMode::Mps) return false;
  if (is_running(job->state)) {
    if (is_adopted(job->spec)) return start.placement == placement_of(job->grant);
    const bool is_lease = job->lease != kNever || start.term != kForever;
    const bool renews = is_lease && start.placement == placement_of(job->grant);
    if (renews) renew(*job, later(now_, start.term));
    return renews;
  }
  const JobState before = job->state;
  if (!is_waiting(before) || !grant(*job, start)) return false;
  job->attempt = Attempt(job->attempt.value() + 1);  // late reports of the berth before are void
  if (before == JobState::Suspended) {
    effects_.list.push_back(Continue{job->id, job->attempt, job->grant});
  } else {
    effects_.list.push_back(Launch{job->id, job->attempt, job->grant});
  }
  return true;
}

void Engine::renew(Job& job, Instant lease) {
  if (job.lease != kNever) leases_.erase({job.lease, job.id});
  job.lease = lease;
  if (lease != kNever) leases_.emplace(lease, job.id);
}

bool Engine::apply(const Preempt& preempt) {
  Job* const job = state_.jobs.find(preempt.job);
  if (job == nullptr || !is_running(job->state) || is_adopted(job->spec)) return false;
  ++job->preemptions;
  stop(*job, PreemptHow::Suspend, StopFor::Preemption);
  emit(EventKind::Preempted, job->id);
  return true;
}

bool Engine::apply(const Migrate& migrate) {
  Job* const job = state_.jobs.find(migrate.job);
  if (job == nullptr || !is_well_formed(migrate.placement, *job)) return false;
  if (!is_running(job->state) || is_adopted(job->spec)) return false;
  const GpuRequest accepted = ask_of(JobView(*job, now_)).request.gpu;
  const auto goes_on = [&](GpuId gpu) { return accepts(accepted, state_.cluster.gpu(gpu)); };
  if (!std::ranges::all_of(migrate.placement.gpus, goes_on)) return false;
  job->migrating = true;
  if (!is_kept(*job)) ++job->preemptions;  // it loses as much by a move
  stop(*job, PreemptHow::Suspend, StopFor::Migration);
  emit(EventKind::Preempted, job->id);
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
