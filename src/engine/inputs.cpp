// What each input does to the state. Inputs that no longer apply (an attempt that is over, a job
// that is gone) change nothing: late, duplicate and reordered reports are normal.
#include <algorithm>

#include "core/base/assert.hpp"
#include "core/run_estimate.hpp"
#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

/// Returns: whether the value is kept; a job may report only so many names.
bool note_metric(Job& job, const Reported& reported) {
  const auto at = std::ranges::lower_bound(job.metrics, reported.key, {}, &Metric::key);
  if (at != job.metrics.end() && at->key == reported.key) {
    at->value = reported.value;
    return true;
  }
  if (job.metrics.size() == kMostMetrics) return false;
  job.metrics.insert(at, {reported.key, reported.value});
  return true;
}

/// True if its user wants it to run again after this end: by the code, whatever else it was taken
/// for. One that may run again with more memory does that.
bool requeues_on(const Job& job, const AttemptEnded& ended) {
  const Conditions& asked = *job.spec.conditions;
  const bool had_all = job.retries_used >= job.spec.retries;
  return (ended.outcome == Outcome::Failed || (ended.outcome == Outcome::Oom && had_all)) &&
         asked.requeues > 0 && std::ranges::binary_search(asked.requeue_on, ended.code);
}

/// A program that does not bear its suspension fails within this time.
constexpr Duration kSpoils = minutes(2);

/// True if the attempt that ended is the continuation of a suspended one, and failed soon.
bool is_spoiled(const Job& job, const AttemptEnded& ended) {
  const bool was_resumed = job.ran > job.ran_before;
  return ended.outcome == Outcome::Failed && was_resumed && *job.ended - job.since <= kSpoils;
}

}  // namespace

// ---- From users ------------------------------------------------------------------------------

void Engine::on(const Submitted& submitted) {
  if (submitted.job.value() == 0 || submitted.job > kLastJob) return;
  if (state_.jobs.find(submitted.job) != nullptr) return;
  if (is_adopted(submitted.spec)) return;  // which is an input of its own
  Job& job = state_.jobs.insert(
      submitted.job,
      Job{.id = submitted.job, .spec = submitted.spec, .submitted = now_, .since = now_});
  if (const auto why = impossible(job)) return reject(job, *why);
  make_sensible(job.spec);
  note_place(job);
  if (submitted.held) job.state = JobState::Held;
  if (const auto never = never_begins(job)) {
    job.outcome = Outcome::Cancelled;
    return end(job, never->note, never->ahead);
  }
  if (submitted.held) return deferrals_.add(job, now_);
  queue_or_defer(job);
}

void Engine::on(const CancelAsked& asked) {
  Job* const job = state_.jobs.find(asked.job);
  if (job == nullptr || job->ending) return;
  if (holds_berth(job->state)) return stop_for_good(*job, Outcome::Cancelled, StopFor::Cancel);
  job->outcome = Outcome::Cancelled;
  end(*job);
}

void Engine::on(const HoldAsked& asked) {
  Job* const job = state_.jobs.find(asked.job);
  const bool can_be =
      job != nullptr && (job->state == JobState::Queued || job->state == JobState::Deferred);
  if (!can_be) return;
  job->after_stop = JobState::Queued;  // it has no process
  const bool was_queued = job->state == JobState::Queued;
  leave_turn(*job);
  set_state(*job, JobState::Held);
  deferrals_.add(*job, now_);
  drop_holds(job->id);
  if (was_queued) emit(EventKind::Withdrawn, job->id);
}

/// A job that waits suspended already keeps its process and waits for its owner.
void Engine::on(const SuspendAsked& asked) {
  Job* const job = state_.jobs.find(asked.job);
  if (job == nullptr || job->ending || is_adopted(job->spec)) return;
  if (job->state == JobState::Suspended) return wait_again(*job, JobState::Held);
  const bool is_suspended =
      job->state == JobState::Stopping && !job->ended && job->after_stop == JobState::Suspended;
  if (is_suspended) job->after_stop = JobState::Held;
  if (job->state != JobState::Running) return;
  job->after_stop = JobState::Held;
  set_state(*job, JobState::Stopping);
  effects_.list.push_back(Stop{job->id, job->attempt, PreemptHow::Suspend, StopFor::Suspension});
  emit(EventKind::Preempted, job->id);
}

void Engine::on(const ReleaseAsked& asked) {
  Job* const job = state_.jobs.find(asked.job);
  if (job == nullptr || job->ending) return;
  const bool is_being_held = job->state == JobState::Stopping && job->after_stop == JobState::Held;
  if (is_being_held) job->after_stop = JobState::Suspended;
  if (job->state != JobState::Held) return;
  const bool has_process = has_idle_process(*job);
  if (!has_process && impossible(*job)) return;  // its GPUs are no more
  if (!has_process) return queue_or_defer(*job);
  set_state(*job, JobState::Suspended);
  emit(EventKind::Submitted, job->id);
}

/// What it was made of stays, and what it waits for.
void Engine::on(const Updated& updated) {
  Job* const job = state_.jobs.find(updated.job);
  if (job == nullptr) return;
  const std::string& comment = updated.spec.conditions->comment;
  if (job->spec.conditions->comment != comment) job->spec.conditions.edit().comment = comment;
  change_turns(*job, updated.spec.conditions->array.at_once);
  if (holds_berth(job->state) || has_idle_process(*job)) {
    change_limit(*job, updated.spec.time_limit);
    return change_suspending(*job, updated.spec.suspending);
  }
  const bool can_be = (job->state == JobState::Queued || job->state == JobState::Deferred ||
                       job->state == JobState::Held);
  if (!can_be || why_impossible(job->id, updated.spec.request, state_.cluster)) return;
  change_begin(*job, updated.spec.conditions->begin);
  job->spec.command = updated.spec.command;
  const bool is_same = job->spec.request == updated.spec.request &&
                       job->spec.vram_estimate == updated.spec.vram_estimate &&
                       job->spec.time_limit == updated.spec.time_limit &&
                       job->spec.priority == updated.spec.priority &&
                       job->spec.suspending == updated.spec.suspending;
  if (is_same) return;  // it keeps its place and what is reserved for it
  job->spec.request = updated.spec.request;
  job->spec.vram_estimate = updated.spec.vram_estimate;
  job->spec.time_limit = updated.spec.time_limit;
  job->spec.priority = updated.spec.priority;
  job->spec.suspending = updated.spec.suspending;
  make_sensible(job->spec);
  note_place(*job);
  drop_holds(job->id);
  if (job->state != JobState::Queued) return;
  emit(EventKind::Withdrawn, job->id);  // policies know it by its request
  emit(EventKind::Submitted, job->id);
}

void Engine::on(const Estimated& estimated) {
  Job* const job = state_.jobs.find(estimated.job);
  if (job == nullptr || !may_be_estimated(*job)) return;
  job->spec.estimate = estimated.estimate;
  job->spec.learned_from = estimated.learned_from;
  make_sensible(job->spec);
  if (job->state != JobState::Queued) return;
  emit(EventKind::Withdrawn, job->id);  // policies know it by its run time
  emit(EventKind::Submitted, job->id);
}

// ---- From the shell that runs jobs -----------------------------------------------------------

void Engine::on(const Started& started) {
  Job* const job = attempt(started.job, started.attempt);
  if (job == nullptr || job->state != JobState::Starting) return;
  job->failed_starts = 0;  // only those in a row count
  set_state(*job, JobState::Running);
}

void Engine::on(const StartFailed& failed) {
  Job* const job = attempt(failed.job, failed.attempt);
  const bool was_stopping = job != nullptr && job->state == JobState::Stopping;
  if (job == nullptr || (job->state != JobState::Starting && !was_stopping)) return;
  const bool is_last =
      !was_stopping &&
      (++job->failed_starts >= state_.settings.max_failed_starts || is_adopted(job->spec));
  if (is_last) {
    job->ending = true;
    job->outcome = Outcome::Failed;
  }
  note_end(*job, job->since);  // nothing ran, which counts as nothing
  const std::vector<Share> left = job->grant.shares;
  if (is_adopted(job->spec)) disown(*job);
  release(*job);
  relieve(left);
  if (!job->ending) return wait_again(*job, JobState::Queued);
  job->ended.reset();
  end(*job);
}

/// It runs on where it was. Its time limit and its lease may have passed meanwhile.
void Engine::on(const SuspendFailed& failed) {
  Job* const job = attempt(failed.job, failed.attempt);
  const bool was_asked = job != nullptr && job->state == JobState::Stopping && !job->ending &&
                         !job->ended && job->after_stop != JobState::Queued;
  if (!was_asked) return;
  job->after_stop = JobState::Queued;
  job->migrating = false;
  job->stays_until = std::max(job->stays_until, failed.stays_until);
  set_state(*job, JobState::Running);
  watch_time_limit(*job);
  if (job->lease != kNever) renew(*job, std::max(job->lease, job->stays_until));
  emit(EventKind::Granted, job->id);
  if (outlives_gpu(*job) && !is_in_service(job->grant)) leave_gpu(*job);
}

void Engine::on(const ResumeFailed& failed) {
  Job* const job = attempt(failed.job, failed.attempt);
  if (job == nullptr || job->state != JobState::Starting) return;
  const bool is_last =
      ++job->failed_starts >= state_.settings.max_failed_starts && !is_adopted(job->spec);
  note_end(*job, job->since);  // it did not run, which counts as nothing
  const std::vector<Share> left = job->grant.shares;
  if (is_adopted(job->spec)) disown(*job);
  release(*job);
  relieve(left);
  if (!is_last) return wait_again(*job, JobState::Suspended);
  job->outcome = Outcome::Failed;
  note_history(*job);
  set_state(*job, JobState::Suspended);  // its process is still there
  job->ended.reset();
  end(*job);
}

/// Not where a GPU of its is out of order, which would keep it for ever.
void Engine::on(const Rooted& rooted) {
  Job* const job = attempt(rooted.job, rooted.attempt);
  if (job == nullptr || job->state != JobState::Stopping || !is_in_service(job->grant)) return;
  GpuSet all = 0;
  for (const Share& share : job->grant.shares) {
    const GpuSet one = state_.cluster.gpu(share.gpu).self;
    if (one == 0) return;
    all |= one;
  }
  job->rooted = all;
}

void Engine::on(const Exited& exited) {
  on(AttemptEnded{.job = exited.job,
                  .attempt = exited.attempt,
                  .outcome = exited.outcome,
                  .code = exited.code,
                  .at = now_});
}

void Engine::on(const AttemptEnded& ended) {
  Job* const job = attempt(ended.job, ended.attempt);
  if (job == nullptr || !(holds_berth(job->state) || has_idle_process(*job))) return;
  if (job->ended) return;  // told before
  note_end(*job, ended.at);
  emit(EventKind::Changed, job->id);  // its run is over, whatever follows
  relieve(job->grant.shares);
  const bool killed_to_run_again = job->state == JobState::Stopping && !job->ending &&
                                   job->after_stop == JobState::Queued &&
                                   (ended.outcome != Outcome::Done || saves_itself(*job));
  if (killed_to_run_again) return;  // Released follows
  job->exit_code = ended.code;
  const Instant limit = later(job->since, limit_left(*job));
  const bool ended_in_time = job->outcome == Outcome::Timeout && *job->ended < limit;
  if (job->ending && !ended_in_time) return;  // cancelled or out of time: that stands
  const bool may_go_on = !has_idle_process(*job) && !job->ending;
  const bool spoiled = may_go_on && is_spoiled(*job, ended);
  const bool requeued = may_go_on && !spoiled && requeues_on(*job, ended);
  if (spoiled) note_spoiled(*job);
  if (requeued) --job->spec.conditions.edit().requeues;
  if (spoiled || requeued) {
    job->after_stop = JobState::Queued;
    if (job->state != JobState::Stopping) set_state(*job, JobState::Stopping);
    return emit(EventKind::Preempted, job->id);
  }
  job->outcome = ended.outcome;
  if (has_idle_process(*job)) {
    set_state(*job, JobState::Queued);  // no process is left to end
    return end(*job);
  }
  job->ran_out = ended.outcome == Outcome::Oom;
  // That a GPU failed may be noticed after the job's end.
  const bool is_open = ended.outcome == Outcome::Failed && outlives_gpu(*job);
  job->ending = !job->ran_out && !is_open;
  job->again_if_hurt = ended.again_if_hurt;
  job->after_stop = JobState::Queued;
  if (job->state != JobState::Stopping) set_state(*job, JobState::Stopping);
  emit(job->ending ? EventKind::Ended : EventKind::Preempted, job->id);
  if (job->ran_out) relieve(job->grant.shares);  // the room it was granted is needed again
}

void Engine::note_spoiled(Job& job) {
  job.spec.suspending = Suspending::No;
  const Fingerprint what = state_.company.of(job.id);
  if (what != Fingerprint(0)) state_.past_runs.note_hurt_by_suspension(job.spec.user, what);
  effects_.list.push_back(Spoiled{job.id, job.attempt, *job.ended - job.since});
}

void Engine::on(const Released& released) {
  Job* const job = attempt(released.job, released.attempt);
  if (job == nullptr || job->state != JobState::Stopping) return;
  if (job->ran_out && !job->ending) judge(*job);
  if (job->outcome == Outcome::Failed && !job->ending) judge_failed(*job);
  const std::vector<Share> left = job->grant.shares;
  // Until a shim held it, looks took use by others for its own, up to its charge.
  if (is_adopted(job->spec)) disown(*job);
  release(*job);
  relieve(left);
  if (job->ending) return end(*job);
  wait_again(*job, job->after_stop);
}

// ---- From probes -----------------------------------------------------------------------------

void Engine::on(const Measured& measured) {
  if (measured.gpu.value() >= state_.cluster.gpus().size() || !is_sensible(measured)) return;
  for (const TenantUse& tenant : measured.tenants) {
    Job* const job = state_.jobs.find(tenant.job);
    if (job == nullptr) continue;
    const auto share = std::ranges::find(job->grant.shares, measured.gpu, &Share::gpu);
    if (share == job->grant.shares.end() || tenant.bytes <= share->charge) continue;
    settle(job->spec.user);
    count(state_.accounts[job->spec.user], job->grant, -1);
    state_.ledger.grow(state_.cluster, *share, tenant.bytes);
    share->charge = tenant.bytes;
    count(state_.accounts[job->spec.user], job->grant, 1);
    weigh(job->spec.user);
    emit(EventKind::Changed, job->id);
  }
  const GpuUse& use = state_.ledger.use().gpu(measured.gpu);
  GpuUse fresh = use;
  fresh.foreign = measured.foreign;
  fresh.used = measured.used;
  fresh.utilisation = measured.utilisation;
  if (fresh != use) state_.ledger.set_gpu(state_.cluster, measured.gpu, fresh);
  end_trespasses(measured);
  relieve(measured.gpu);
}

/// What was admitted becomes less, so what it takes beyond is an overrun from here on.
void Engine::on(const Shrunk& shrunk) {
  Job* const job = state_.jobs.find(shrunk.job);
  const bool is_current =
      job != nullptr && job->attempt == shrunk.attempt && job->state == JobState::Running;
  if (!is_current || shrunk.charge <= Bytes(0)) return;
  const auto share = std::ranges::find(job->grant.shares, shrunk.gpu, &Share::gpu);
  if (share == job->grant.shares.end() || shrunk.charge >= share->charge) return;
  settle(job->spec.user);
  count(state_.accounts[job->spec.user], job->grant, -1);
  state_.ledger.grow(state_.cluster, *share, shrunk.charge);
  share->charge = shrunk.charge;
  share->granted = shrunk.charge;
  count(state_.accounts[job->spec.user], job->grant, 1);
  weigh(job->spec.user);
  emit(EventKind::Changed, job->id);
}

void Engine::on(const GpuHealth& health) {
  if (health.gpu.value() >= state_.cluster.gpus().size()) return;
  GpuUse use = state_.ledger.use().gpu(health.gpu);
  if (use.healthy == health.healthy) return;
  use.healthy = health.healthy;
  state_.ledger.set_gpu(state_.cluster, health.gpu, use);
  if (!use.healthy) let_go_of(health.gpu);
}

/// Jobs that were to go on with it do so with others, or never would.
void Engine::let_go_of(GpuId gpu) {
  const GpuSet self = state_.cluster.gpu(gpu).self;
  std::vector<JobId> rooted;
  state_.jobs.for_each([&](JobId id, const Job& job) {
    if ((job.rooted & self) != 0) rooted.push_back(id);
  });
  for (const JobId id : rooted) {
    Job& job = *state_.jobs.find(id);
    job.rooted = 0;
    if (is_waiting(job.state)) emit(EventKind::Requeued, id);
  }
}

void Engine::on(const NodeHealth& health) {
  if (health.node.value() >= state_.cluster.nodes().size()) return;
  NodeUse use = state_.ledger.use().node(health.node);
  use.healthy = health.healthy;
  state_.ledger.set_node(health.node, use);
  for (const GpuId gpu : state_.cluster.node(health.node).gpu_ids()) {
    GpuUse gpu_use = state_.ledger.use().gpu(gpu);
    gpu_use.reachable = health.healthy;
    state_.ledger.set_gpu(state_.cluster, gpu, gpu_use);
  }
}

// ---- From jobs, profilers and administrators -------------------------------------------------

void Engine::on(const Reported& reported) {
  Job* const job = state_.jobs.find(reported.job);
  if (job == nullptr) return;
  if (reported.key == "done") {
    job->progress.done = reported.value;
    if (is_running(job->state)) {
      state_.company.report(job->id, beside_of(*job), reported.value, now_);
    }
  } else if (reported.key == "total") {
    job->progress.total = reported.value;
  } else if (!note_metric(*job, reported)) {
    return;
  }
  emit(EventKind::Changed, job->id);
}

void Engine::on(const Configured& configured) {
  if (!is_sensible(configured.settings)) return;
  for (const auto& [user, account] : state_.accounts) settle(user);
  state_.settings = configured.settings;
  value_gpus();
  for (const auto& [user, account] : state_.accounts) weigh(user);
  state_.ledger.set_admission(state_.cluster, configured.settings.admission);
  for (const GpuId gpu : state_.cluster.gpu_ids()) watch_relief(gpu);
}

void Engine::on(const Weighed& weighed) {
  if (!is_sensible(weighed)) return;
  for (auto& [user, account] : state_.accounts) account.weight_milli = kUsualWeight;
  for (const auto& [user, weight] : weighed.weights_milli) {
    settle(user);  // a new user has had no service so far
    state_.accounts[user].weight_milli = weight;
  }
}

void Engine::on(const Identified& identified) {
  Job* const job = state_.jobs.find(identified.job);
  if (job == nullptr) return;
  const bool is_hurt = !saves_itself(*job) &&
                       state_.past_runs.is_hurt_by_suspension(job->spec.user, identified.what);
  if (is_hurt && job->spec.suspending == Suspending::Unsaid) job->spec.suspending = Suspending::No;
  state_.company.identify(identified.job, identified.what);
}

void Engine::on(const Wired& wired) {
  if (wired.node.value() >= state_.cluster.nodes().size()) return;
  if (!are_links(wired.links, state_.cluster.node(wired.node).gpus)) return;
  state_.cluster.set_links(wired.node, wired.links);
}

void Engine::on(const Profiled& profiled) {
  if (profiled.speeds.is_sane()) state_.speeds = profiled.speeds;
}

void Engine::on(const Bounded& bounded) {
  if (is_sensible(bounded.bounds)) state_.bounds = bounded.bounds;
}

void Engine::set_drain(GpuId gpu, std::optional<Drain> drain) {
  GpuUse use = state_.ledger.use().gpu(gpu);
  use.drained = drain.has_value();
  if (drain) {
    state_.drains[gpu] = std::move(*drain);
  } else {
    state_.drains.erase(gpu);
  }
  if (use != state_.ledger.use().gpu(gpu)) state_.ledger.set_gpu(state_.cluster, gpu, use);
}

void Engine::on(const Drained& drained) {
  if (drained.gpu.value() >= state_.cluster.gpus().size()) return;
  past_terms_.drains.erase(drained.gpu);
  set_drain(drained.gpu, drained.drain);
}

void Engine::end_drains() {
  std::vector<GpuId> over;
  for (const auto& [gpu, drain] : state_.drains) {
    if (drain.until <= now_) over.push_back(gpu);
  }
  for (const GpuId gpu : over) {
    past_terms_.drains[gpu] = state_.drains.at(gpu);
    set_drain(gpu, std::nullopt);
  }
}

void Engine::on(const Ticked&) {}

}  // namespace berth
