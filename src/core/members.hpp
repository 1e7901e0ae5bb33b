// The members of every structure that is journaled or saved, in the order they are written.
//
// A new member goes here too; the round-trip test of each structure fails if it is forgotten. A
// change here changes the journal's format: see doc/journal-format.md.
#pragma once

#include <tuple>

#include "core/account.hpp"
#include "core/codec.hpp"
#include "core/company.hpp"
#include "core/decision.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "core/settings.hpp"

namespace berth {

// The largest value of each enumeration: a reader refuses what lies beyond.
constexpr Sharing last_of(Sharing) { return Sharing::Alone; }
constexpr ShareMode last_of(ShareMode) { return ShareMode::Mig; }
constexpr AdmissionMode last_of(AdmissionMode) { return AdmissionMode::None; }
constexpr JobState last_of(JobState) { return JobState::Stopping; }
constexpr Outcome last_of(Outcome) { return Outcome::Rejected; }
constexpr DurationClass last_of(DurationClass) { return DurationClass::Service; }
constexpr JobKind last_of(JobKind) { return JobKind::Batch; }
constexpr Because last_of(Because) { return Because::Impossible; }
constexpr PreemptHow last_of(PreemptHow) { return PreemptHow::Kill; }

// What jobs ask for and hold.
inline auto members(GpuRequest& v) {
  return std::tie(v.count, v.vram, v.milli, v.sharing, v.processes, v.types, v.profile, v.min,
                  v.max);
}
inline auto members(Request& v) { return std::tie(v.cpu, v.host, v.gpu); }
inline auto members(Ask& v) { return std::tie(v.request, v.planned); }
inline auto members(Placement& v) { return std::tie(v.gpus, v.host); }
inline auto members(Share& v) { return std::tie(v.gpu, v.charge, v.granted); }
inline auto members(Grant& v) {
  return std::tie(v.shares, v.host, v.cpu, v.memory, v.milli, v.sharing);
}
inline auto members(JobSpec& v) {
  return std::tie(v.user, v.request, v.duration_class, v.kind, v.time_limit, v.estimate,
                  v.vram_estimate, v.deadline, v.priority, v.retries, v.command);
}
inline auto members(Progress& v) { return std::tie(v.done, v.total); }
inline auto members(Overrun& v) { return std::tie(v.job, v.user, v.gpu, v.held, v.granted, v.at); }
inline auto members(Job& v) {
  return std::tie(v.id, v.spec, v.claimed, v.state, v.after_stop, v.ending, v.migrating, v.outcome,
                  v.exit_code, v.attempt, v.submitted, v.first_start, v.since, v.ran, v.waited,
                  v.grant_number, v.preemptions, v.failed_starts, v.retries_used, v.progress,
                  v.grant, v.ended, v.leaving, v.ran_out, v.again_if_hurt, v.hurt_by);
}

// The cluster and its state.
inline auto members(GpuSpec& v) {
  return std::tie(v.node, v.share_mode, v.type, v.slots, v.capacity, v.context);
}
inline auto members(NodeShape& v) {
  return std::tie(v.name, v.gpus, v.vram, v.context, v.type, v.share_mode, v.slots, v.cpu, v.host);
}
inline auto members(Admission& v) { return std::tie(v.mode, v.guard_floor, v.guard_ppm); }
inline auto members(UserLimits& v) { return std::tie(v.gpus, v.jobs); }
inline auto members(PreemptionBounds& v) { return std::tie(v.most, v.lost); }
inline auto members(Settings& v) {
  return std::tie(v.admission, v.limits, v.service_half_life, v.max_failed_starts, v.can_suspend);
}
inline auto members(Account& v) {
  return std::tie(v.weight_milli, v.service, v.as_of, v.share_ppb, v.gpus, v.charges, v.jobs,
                  v.outlived_short, v.outlived_medium);
}
inline auto members(GpuUse& v) {
  return std::tie(v.charged, v.foreign, v.used, v.milli, v.tenants, v.alone, v.utilisation,
                  v.healthy, v.reachable);
}
inline auto members(Meeting& v) { return std::tie(v.with, v.together); }
inline auto members(PairRate& v) { return std::tie(v.ppm, v.times); }
inline auto members(Lesson& v) { return std::tie(v.alone, v.times, v.latest, v.beside); }
inline auto members(Identity& v) { return std::tie(v.job, v.what); }
inline auto members(CompanyRecord& v) { return std::tie(v.jobs, v.meetings, v.lessons, v.learned); }
inline auto members(Hold& v) {
  return std::tie(v.job, v.ask, v.placement, v.from, v.after_grant, v.promised, v.lend, v.awaited,
                  v.lent, v.lent_tenants, v.lent_milli);
}

// Inputs.
inline auto members(Submitted& v) { return std::tie(v.job, v.spec, v.held); }
inline auto members(CancelAsked& v) { return std::tie(v.job); }
inline auto members(HoldAsked& v) { return std::tie(v.job); }
inline auto members(ReleaseAsked& v) { return std::tie(v.job); }
inline auto members(UpdateAsked& v) { return std::tie(v.job, v.spec); }
inline auto members(Started& v) { return std::tie(v.job, v.attempt); }
inline auto members(StartFailed& v) { return std::tie(v.job, v.attempt); }
inline auto members(Exited& v) { return std::tie(v.job, v.attempt, v.outcome, v.code); }
inline auto members(Released& v) { return std::tie(v.job, v.attempt); }
inline auto members(LeaseExpired& v) { return std::tie(v.job, v.attempt); }
inline auto members(TenantUse& v) { return std::tie(v.job, v.bytes); }
inline auto members(Measured& v) {
  return std::tie(v.gpu, v.foreign, v.used, v.tenants, v.utilisation);
}
inline auto members(GpuHealth& v) { return std::tie(v.gpu, v.healthy); }
inline auto members(NodeHealth& v) { return std::tie(v.node, v.healthy); }
inline auto members(Reported& v) { return std::tie(v.job, v.key, v.value); }
inline auto members(Estimated& v) { return std::tie(v.job, v.estimate, v.vram); }
inline auto members(Computed& v) { return std::tie(v.problem, v.answer); }
inline auto members(Configured& v) { return std::tie(v.settings); }
inline auto members(Ticked&) { return std::tie(); }
inline auto members(Identified& v) { return std::tie(v.job, v.what); }
inline auto members(Weighed& v) { return std::tie(v.weights_milli); }
inline auto members(Bounded& v) { return std::tie(v.bounds); }
inline auto members(AttemptEnded& v) {
  return std::tie(v.job, v.attempt, v.outcome, v.code, v.at, v.again_if_hurt);
}

// Decisions.
inline auto members(Start& v) {
  return std::tie(v.job, v.placement, v.because, v.term, v.share_percent);
}
inline auto members(Preempt& v) { return std::tie(v.job, v.how, v.because); }
inline auto members(Resume& v) { return std::tie(v.job, v.placement, v.because); }
inline auto members(Migrate& v) { return std::tie(v.job, v.placement, v.because); }
inline auto members(Resize& v) { return std::tie(v.job, v.gpus); }
inline auto members(Tune& v) { return std::tie(v.job, v.knob, v.value); }
inline auto members(Reserve& v) { return std::tie(v.holds, v.because); }
inline auto members(Classify& v) { return std::tie(v.job, v.duration_class); }
inline auto members(Reject& v) { return std::tie(v.job, v.because); }

// ---- Settings ---------------------------------------------------------------------------------
// Nine numbers stand among the settings, where the keys of one policy once were: a journal of then
// is read as ever.

inline constexpr int kFormerKeys = 9;

inline void put_one(ByteWriter& out, const Settings& v) {
  codec::put(out, v.admission), codec::put(out, v.limits);
  for (int i = 0; i < kFormerKeys; ++i) out.integer(0);
  codec::put(out, v.service_half_life), codec::put(out, v.max_failed_starts);
  codec::put(out, v.can_suspend);
}
inline void get_one(ByteReader& in, Settings& v) {
  codec::get(in, v.admission), codec::get(in, v.limits);
  for (int i = 0; i < kFormerKeys; ++i) in.integer();
  codec::get(in, v.service_half_life), codec::get(in, v.max_failed_starts);
  codec::get(in, v.can_suspend);
}

}  // namespace berth
