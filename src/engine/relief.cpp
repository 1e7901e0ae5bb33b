// What happens when GPU memory runs out: the jobs that end, and their requests when they run again.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

/// Requests stay multiples of it; shells round what they measure up to one.
constexpr Bytes kRequestStep{std::int64_t{64} << 20};

/// How long killed or ended processes may take to give their memory back.
constexpr Duration kRelief = seconds(2);

/// How long after a neighbour's overrun a job's death may be its consequence: an allocation fails,
/// and the program tears itself down.
constexpr Duration kBlame = minutes(1);

const Share* share_on(const Job& job, GpuId gpu) {
  const auto share = std::ranges::find(job.grant.shares, gpu, &Share::gpu);
  return share == job.grant.shares.end() ? nullptr : &*share;
}

Bytes overrun(const Share& share) { return share.charge - share.granted; }

/// Requires: it was hurt.
bool by_foreign(const Job& job) { return job.hurt_by->job == JobId(0); }

bool is_leaving(const Job& job, Instant now) { return job.leaving && now - *job.leaving < kRelief; }

Bytes rounded_up(Bytes bytes) {
  return kRequestStep * ((bytes.raw() + kRequestStep.raw() - 1) / kRequestStep.raw());
}

/// The largest request that some placement of the job could hold; what is asked, if none is larger.
Bytes largest_request(const Job& job, const Cluster& cluster) {
  Request whole = job.spec.request;
  Bytes low = whole.gpu.vram;
  Bytes high = cluster.largest_gpu();
  while (low + kRequestStep <= high) {
    const Bytes middle = rounded_up(low + Bytes((high - low).raw() / 2));
    whole.gpu.vram = std::min(middle, high);
    if (why_impossible(job.id, whole, cluster)) {
      high = whole.gpu.vram - kRequestStep;
    } else {
      low = whole.gpu.vram;
    }
  }
  return low;
}

}  // namespace

std::vector<Job*> Engine::tenants_of(GpuId gpu) {
  std::vector<Job*> tenants;
  for (const JobId id : state_.tenants[gpu.value()]) tenants.push_back(&state_.jobs.at(id));
  return tenants;
}

bool Engine::needs_relief(GpuId gpu) const {
  const GpuUse& use = state_.ledger.use().gpu(gpu);
  return state_.settings.admission.mode == AdmissionMode::Guarantee && use.tenants > 1 &&
         is_under_pressure(state_.cluster.gpu(gpu), use);
}

/// Ended by a neighbour's overrun, as far as is known, and coming back for the same place.
bool Engine::runs_again(const Job& job) const {
  return job.ran_out && !job.ending && job.hurt_by && may_run_again(job);
}

/// Of one that was hurt: another job that did it is ended, foreign use may come again each time.
bool Engine::may_run_again(const Job& job) {
  if (is_adopted(job.spec)) return false;
  return (job.again_if_hurt && !by_foreign(job)) || job.retries_used < job.spec.retries;
}

/// Under pressure, tenants beyond their charge are ended, the largest overrun first, because the
/// others' guarantee holds only while every tenant stays within its charge. Memory counts as coming
/// back only from tenants that were killed or have ended, and only for kRelief: a tenant that was
/// asked to stop may take its whole grace. Foreign use alone is no job's overrun: admission has
/// stopped, and no more can be done than to remember what hurts those who fail for it.
void Engine::relieve(GpuId gpu) {
  if (state_.ledger.use().gpu(gpu).foreign > Bytes(0)) blame_foreign_use(gpu);
  if (!needs_relief(gpu)) return watch_relief(gpu);
  const GpuUse& use = state_.ledger.use().gpu(gpu);
  const std::vector<Job*> tenants = tenants_of(gpu);
  const auto surplus = [&](const Job* job) { return overrun(*share_on(*job, gpu)); };
  const Job* const worst = *std::ranges::max_element(tenants, {}, surplus);
  if (surplus(worst) < kRequestStep) return watch_relief(gpu);
  const Share& taken = *share_on(*worst, gpu);
  Bytes lacking = use.foreign + use.charged - state_.cluster.gpu(gpu).capacity;
  for (Job* const job : tenants) {
    if (surplus(job) < kRequestStep) {
      job->hurt_by = Overrun{worst->id, worst->spec.user, gpu, taken.charge, taken.granted, now_};
    }
    if (is_leaving(*job, now_) && !runs_again(*job)) lacking -= share_on(*job, gpu)->charge;
  }
  std::vector<Job*> offenders;
  std::ranges::copy_if(tenants, std::back_inserter(offenders), [&](const Job* job) {
    return surplus(job) >= kRequestStep && !job->leaving;
  });
  std::ranges::stable_sort(offenders, std::ranges::greater(), surplus);
  for (Job* const job : offenders) {
    if (lacking <= Bytes(0)) break;
    lacking -= share_on(*job, gpu)->charge;
    end_overrun(*job, StopFor::Overrun);
  }
  watch_relief(gpu);
}

/// A job that was blamed stays so: what it leaves behind may look like foreign use for a while.
void Engine::blame_foreign_use(GpuId gpu) {
  const GpuUse& use = state_.ledger.use().gpu(gpu);
  const GpuSpec& spec = state_.cluster.gpu(gpu);
  const Admission& admission = state_.settings.admission;
  const bool has_grown = use.foreign > guard_band(admission, spec);  // since others were admitted
  if (admission.mode != AdmissionMode::Guarantee || !has_grown) return;
  if (!is_under_pressure(spec, use)) return;
  for (Job* const job : tenants_of(gpu)) {
    const bool has_cause = job->hurt_by && !by_foreign(*job) && now_ - job->hurt_by->at <= kBlame;
    if (has_cause || overrun(*share_on(*job, gpu)) >= kRequestStep) continue;
    job->hurt_by = Overrun{.gpu = gpu, .held = use.foreign, .at = now_};
  }
}

/// Of a GPU that it was not given a job was granted nothing. It is ended whether others lack the
/// memory or not: nobody could count on a GPU otherwise, and who holds it would not be charged.
/// What the guard band covers, as a context that a library for graphics makes on the first GPU, is
/// left where nobody lacks it.
void Engine::end_trespass(const TenantUse& found, GpuId gpu) {
  Job& job = state_.jobs.at(found.job);
  const GpuSpec& spec = state_.cluster.gpu(gpu);
  const bool lacks = is_under_pressure(spec, state_.ledger.use().gpu(gpu));
  if (!lacks && found.bytes <= guard_band(state_.settings.admission, spec)) return;
  if (lacks) {
    for (Job* const tenant : tenants_of(gpu)) {
      if (overrun(*share_on(*tenant, gpu)) >= kRequestStep) continue;
      tenant->hurt_by = Overrun{job.id, job.spec.user, gpu, found.bytes, Bytes(0), now_};
    }
  }
  if (job.leaving) return;
  job.leaving = now_;
  if (!job.ending) return stop_for_good(job, Outcome::Failed, StopFor::Trespass);
  effects_.list.push_back(Stop{job.id, job.attempt, PreemptHow::Kill, StopFor::Trespass});
}

void Engine::end_trespasses(const Measured& measured) {
  if (state_.settings.admission.mode != AdmissionMode::Guarantee) return;
  for (const TenantUse& found : measured.tenants) {
    const Job* const job = state_.jobs.find(found.job);
    const bool trespasses = job != nullptr && holds_berth(job->state) && !job->ended &&
                            share_on(*job, measured.gpu) == nullptr && found.bytes >= kRequestStep;
    if (trespasses) end_trespass(found, measured.gpu);
  }
}

/// From a shell that found out that a waiting job would fit without it.
void Engine::on(const SurplusAsked& asked) {
  Job* const job = attempt(asked.job, asked.attempt);
  if (job == nullptr || !is_running(job->state)) return;
  const bool has_surplus = std::ranges::any_of(
      job->grant.shares, [](const Share& share) { return overrun(share) >= kRequestStep; });
  if (has_surplus) end_overrun(*job, StopFor::Surplus);
}

void Engine::relieve(const std::vector<Share>& shares) {
  for (const Share& share : shares) relieve(share.gpu);
}

void Engine::end_overrun(Job& job, StopFor why) {
  job.leaving = now_;
  if (job.state == JobState::Stopping) {  // asked to stop, and takes others' memory meanwhile
    job.after_stop = JobState::Queued;
    effects_.list.push_back(Stop{job.id, job.attempt, PreemptHow::Kill, why});
  } else if (grow_request(job)) {
    stop(job, PreemptHow::Requeue, why);
    emit(EventKind::Preempted, job.id);
  } else {
    stop_for_good(job, Outcome::Oom, why);
  }
  for (const Share& share : job.grant.shares) watch_relief(share.gpu);
}

/// Remembers when to look at a GPU again on which an overrun goes on because memory is about to
/// come back: it may not. The same from the same state, so that a restored engine wakes as often.
void Engine::watch_relief(GpuId gpu) {
  reliefs_.erase(gpu);
  if (!needs_relief(gpu)) return;
  Instant due = kNever;
  bool goes_on = false;
  for (const Job* const job : tenants_of(gpu)) {
    if (is_leaving(*job, now_)) due = std::min(due, *job->leaving + kRelief);
    goes_on = goes_on || (!job->leaving && overrun(*share_on(*job, gpu)) >= kRequestStep);
  }
  if (goes_on && due != kNever) reliefs_.emplace(gpu, due);
}

void Engine::relieve_again() {
  std::vector<GpuId> due;
  for (const auto& [gpu, at] : reliefs_) {
    if (at <= now_) due.push_back(gpu);
  }
  for (const GpuId gpu : due) relieve(gpu);
}

/// What becomes of a job that ran out of GPU memory, now that the GPUs have been looked at since.
/// A job that a neighbour hurt asked for enough: its request stays, and no try is used up. The
/// request of one that foreign use hurt stays, too, but a try is used up.
void Engine::judge(Job& job) {
  relieve(job.grant.shares);
  const bool is_honest = std::ranges::none_of(
      job.grant.shares, [](const Share& share) { return overrun(share) >= kRequestStep; });
  if (is_honest && job.hurt_by && *job.ended - job.hurt_by->at <= kBlame) {
    const bool again = may_run_again(job);
    const bool is_free = job.again_if_hurt && !by_foreign(job);
    effects_.list.push_back(Hurt{job.id, job.attempt, *job.hurt_by, again});
    if (again && !is_free) ++job.retries_used;
    if (again) return;
  } else if (grow_request(job)) {
    return;
  }
  job.ending = true;
  emit(EventKind::Ended, job.id);
}

/// For another try after it ran out of GPU memory: half as much again, or what it was seen to hold
/// if that is more, up to the largest there is; a whole GPU where the charge was learned. Returns:
/// false if no try is left, or none would differ.
bool Engine::grow_request(Job& job) {
  GpuRequest& gpu = job.spec.request.gpu;
  if (gpu.vram == Bytes(0) && job.spec.vram_estimate > Bytes(0) && gpu.sharing != Sharing::Alone) {
    job.spec.vram_estimate = Bytes(0);  // its user never said so little: no try is used up
    return true;
  }
  if (job.retries_used >= job.spec.retries || gpu.vram == Bytes(0)) return false;
  Bytes wanted = gpu.vram + Bytes(gpu.vram.raw() / 2);
  for (const Share& share : job.grant.shares) {
    const Bytes context = state_.cluster.gpu(share.gpu).context * gpu.processes;
    wanted = std::max(wanted, share.charge - context);
  }
  const Bytes larger = std::min(rounded_up(wanted), largest_request(job, state_.cluster));
  if (larger <= gpu.vram) return false;
  gpu.vram = larger;
  ++job.retries_used;
  return true;
}

}  // namespace berth
