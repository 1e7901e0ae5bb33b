// The members of every structure that is journaled or saved, in the order they are written.
//
// A new member goes here too; the round-trip test of each structure fails if it is forgotten. A
// change here is a change of layout: see codec.hpp and doc/journal-format.md.
#pragma once

#include <tuple>

#include "core/account.hpp"
#include "core/base/codec.hpp"
#include "core/decision.hpp"
#include "core/history.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "core/knowledge/company.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/settings.hpp"

namespace berth {

// The largest value of each enumeration: a reader refuses what lies beyond.
constexpr Sharing last_of(Sharing) { return Sharing::AtOnce; }
constexpr Suspending last_of(Suspending) { return Suspending::Yes; }
constexpr Nearness last_of(Nearness) { return Nearness::System; }
constexpr ShareMode last_of(ShareMode) { return ShareMode::Mig; }
constexpr AdmissionMode last_of(AdmissionMode) { return AdmissionMode::None; }
constexpr JobState last_of(JobState) { return JobState::Deferred; }
constexpr After last_of(After) { return After::NotOk; }
constexpr Outcome last_of(Outcome) { return Outcome::Rejected; }
constexpr DurationClass last_of(DurationClass) { return DurationClass::Service; }
constexpr Because last_of(Because) { return Because::Impossible; }
constexpr Role last_of(Role) { return Role::Guest; }

// What jobs ask for and hold.
inline auto members(GpuRequest& v) {
  return std::tie(v.count, v.vram, v.milli, v.sharing, v.processes, v.types, v.only, v.min, v.max);
}
inline auto members(Request& v) { return std::tie(v.cpu, v.host, v.gpu); }
inline auto members(Ask& v, codec::Before<2>) { return std::tie(v.request, v.planned, v.barred); }
inline auto members(Ask& v) {
  return std::tuple_cat(members(v, codec::Before<2>()), std::tie(v.home));
}
inline auto members(Placement& v) { return std::tie(v.gpus, v.host); }
inline auto members(Share& v) { return std::tie(v.gpu, v.charge, v.granted); }
inline auto members(Grant& v) {
  return std::tie(v.shares, v.host, v.cpu, v.memory, v.milli, v.sharing, v.role, v.share);
}
inline auto members(Dependency& v) { return std::tie(v.job, v.when, v.ended, v.array); }
inline auto members(ArrayPlace& v) { return std::tie(v.first, v.task, v.tasks, v.at_once); }
inline auto members(Saving& v) { return std::tie(v.signal, v.grace); }
inline auto members(Conditions& v, codec::Before<3>) {
  return std::tie(v.after, v.begin, v.array, v.unique, v.requeue_on, v.requeues,
                  v.requeue_on_gpu_failure, v.on_preempt);
}
inline auto members(Conditions& v, codec::Before<6>) {
  return std::tuple_cat(members(v, codec::Before<3>()), std::tie(v.comment));
}
inline auto members(Conditions& v) {
  return std::tuple_cat(members(v, codec::Before<6>()), std::tie(v.adopted));
}
inline auto members(JobSpec& v, codec::Before<2>) {
  return std::tie(v.user, v.request, v.duration_class, v.time_limit, v.estimate, v.vram_estimate,
                  v.deadline, v.priority, v.retries, v.command, v.group, v.model, v.batch,
                  v.learned_from, v.conditions);
}
inline auto members(JobSpec& v) {
  return std::tuple_cat(members(v, codec::Before<2>()), std::tie(v.suspending));
}
inline auto members(Progress& v) { return std::tie(v.done, v.total); }
inline auto members(Metric& v) { return std::tie(v.key, v.value); }
inline auto members(Overrun& v) { return std::tie(v.job, v.user, v.gpu, v.held, v.granted, v.at); }
inline auto members(Job& v, codec::Before<2>) {
  return std::tie(v.id, v.spec, v.state, v.after_stop, v.ending, v.migrating, v.outcome,
                  v.exit_code, v.attempt, v.submitted, v.first_start, v.since, v.ran, v.attained,
                  v.waited, v.grant_number, v.preemptions, v.failed_starts, v.retries_used,
                  v.progress, v.metrics, v.grant, v.lease, v.ended, v.leaving, v.ran_out,
                  v.again_if_hurt, v.hurt_by, v.stays_until, v.line_shift, v.ran_before);
}
inline auto members(Job& v, codec::Before<4>) {
  return std::tuple_cat(members(v, codec::Before<2>()), std::tie(v.home));
}
inline auto members(Job& v, codec::Before<5>) {
  return std::tuple_cat(members(v, codec::Before<4>()), std::tie(v.in_host));
}
inline auto members(Job& v, codec::Before<7>) {
  return std::tuple_cat(members(v, codec::Before<5>()), std::tie(v.rooted));
}
inline auto members(Job& v) {
  return std::tuple_cat(members(v, codec::Before<7>()), std::tie(v.bound));
}
inline auto members(PastRun& v) { return std::tie(v.gpus, v.ran); }
inline auto members(PastProgram& v, codec::Before<2>) { return std::tie(v.latest, v.runs); }
inline auto members(PastProgram& v) {
  return std::tuple_cat(members(v, codec::Before<2>()), std::tie(v.is_hurt_by_suspension));
}
inline auto members(Ended& v) {
  return std::tie(v.job, v.user, v.what, v.gpus, v.duration_class, v.ran, v.attained, v.outcome,
                  v.at);
}

// The cluster and its state.
inline auto members(GpuSpec& v) {
  return std::tie(v.node, v.share_mode, v.type, v.slots, v.capacity, v.context);
}
inline auto members(Link& v) { return std::tie(v.one, v.other, v.nearness, v.nvlinks); }
inline auto members(NodeShape& v) {
  return std::tie(v.name, v.gpus, v.vram, v.context, v.type, v.share_mode, v.slots, v.cpu, v.host,
                  v.links);
}
inline auto members(Admission& v) { return std::tie(v.mode, v.guard_floor, v.guard_ppm); }
inline auto members(UserLimits& v) { return std::tie(v.gpus, v.jobs); }
inline auto members(PreemptionBounds& v) { return std::tie(v.most, v.lost); }
inline auto members(Settings& v, codec::Before<2>) {
  return std::tie(v.admission, v.limits, v.user_limits, v.service_half_life, v.max_failed_starts,
                  v.can_suspend, v.own_priority, v.ends_at_limit);
}
inline auto members(Settings& v, codec::Before<4>) {
  return std::tuple_cat(members(v, codec::Before<2>()), std::tie(v.suspends_in_place));
}
inline auto members(Settings& v, codec::Before<7>) {
  return std::tuple_cat(members(v, codec::Before<4>()), std::tie(v.suspend_room));
}
inline auto members(Settings& v) {
  return std::tuple_cat(members(v, codec::Before<7>()), std::tie(v.suspends_on_type, v.gpu_values));
}
inline auto members(Drain& v) { return std::tie(v.until, v.by, v.reason, v.shown); }
inline auto members(Reservation& v) {
  return std::tie(v.gpus, v.users, v.from, v.until, v.by, v.reason, v.shown);
}
/// Its worth follows from the grants.
inline auto members(Account& v) {
  return std::tie(v.weight_milli, v.service, v.as_of, v.share_ppb, v.gpus, v.charges, v.jobs);
}
inline auto members(GpuUse& v) {
  return std::tie(v.charged, v.foreign, v.used, v.milli, v.tenants, v.alone, v.utilisation,
                  v.healthy, v.reachable);
}
inline auto members(Advance& v) { return std::tie(v.done, v.time); }
inline auto members(Meeting& v, codec::Before<8>) { return std::tie(v.with, v.together); }
inline auto members(Meeting& v) {
  return std::tuple_cat(members(v, codec::Before<8>()), std::tie(v.advance, v.last, v.is_told));
}
inline auto members(Stint& v) { return std::tie(v.since, v.reported, v.done, v.alone, v.busy); }
inline auto members(PairRate& v, codec::Before<8>) { return std::tie(v.ppm, v.times); }
inline auto members(PairRate& v) {
  return std::tuple_cat(members(v, codec::Before<8>()), std::tie(v.spread, v.last));
}
inline auto members(Lesson& v, codec::Before<8>) {
  return std::tie(v.alone, v.times, v.latest, v.beside);
}
inline auto members(Lesson& v) {
  return std::tuple_cat(members(v, codec::Before<8>()), std::tie(v.spread, v.busy, v.last));
}
inline auto members(Identity& v) { return std::tie(v.job, v.what); }
inline auto members(CompanyRecord& v, codec::Before<8>) {
  return std::tie(v.jobs, v.meetings, v.lessons, v.learned);
}
inline auto members(CompanyRecord& v) {
  return std::tuple_cat(members(v, codec::Before<8>()), std::tie(v.stints, v.by_duty));
}
inline auto members(Hold& v) { return std::tie(v.job, v.ask, v.placement, v.from, v.promised); }

// Inputs.
inline auto members(Submitted& v) { return std::tie(v.job, v.spec, v.held); }
inline auto members(CancelAsked& v) { return std::tie(v.job); }
inline auto members(HoldAsked& v) { return std::tie(v.job); }
inline auto members(ReleaseAsked& v) { return std::tie(v.job); }
inline auto members(SuspendAsked& v) { return std::tie(v.job); }
inline auto members(SuspendFailed& v) { return std::tie(v.job, v.attempt, v.stays_until); }
inline auto members(Shrunk& v) { return std::tie(v.job, v.attempt, v.gpu, v.charge); }
inline auto members(ResumeFailed& v) { return std::tie(v.job, v.attempt); }
inline auto members(Rooted& v) { return std::tie(v.job, v.attempt); }
inline auto members(Started& v) { return std::tie(v.job, v.attempt); }
inline auto members(StartFailed& v) { return std::tie(v.job, v.attempt); }
inline auto members(Exited& v) { return std::tie(v.job, v.attempt, v.outcome, v.code); }
inline auto members(Released& v) { return std::tie(v.job, v.attempt); }
inline auto members(TenantUse& v) { return std::tie(v.job, v.bytes); }
inline auto members(Measured& v) {
  return std::tie(v.gpu, v.foreign, v.used, v.tenants, v.utilisation);
}
inline auto members(GpuHealth& v) { return std::tie(v.gpu, v.healthy); }
inline auto members(GpuLost& v) { return std::tie(v.gpu); }
inline auto members(NodeHealth& v) { return std::tie(v.node, v.healthy); }
inline auto members(Reported& v) { return std::tie(v.job, v.key, v.value); }
inline auto members(Configured& v) { return std::tie(v.settings); }
inline auto members(Ticked&) { return std::tie(); }
inline auto members(Profiled& v) { return std::tie(v.speeds); }
inline auto members(Identified& v) { return std::tie(v.job, v.what); }
inline auto members(Weighed& v) { return std::tie(v.weights_milli); }
inline auto members(Bounded& v) { return std::tie(v.bounds); }
inline auto members(Updated& v) { return std::tie(v.job, v.spec, v.name); }
inline auto members(Estimated& v) { return std::tie(v.job, v.estimate, v.learned_from); }
inline auto members(Drained& v) { return std::tie(v.gpu, v.drain); }
inline auto members(Reserved& v) { return std::tie(v.id, v.reservation); }
inline auto members(Unreserved& v) { return std::tie(v.id); }
inline auto members(Wired& v) { return std::tie(v.node, v.links); }
inline auto members(AttemptEnded& v) {
  return std::tie(v.job, v.attempt, v.outcome, v.code, v.at, v.again_if_hurt);
}
inline auto members(SurplusAsked& v) { return std::tie(v.job, v.attempt); }
inline auto members(AdoptedShare& v) { return std::tie(v.gpu, v.held, v.charge, v.rest); }
inline auto members(Adopted& v) { return std::tie(v.job, v.spec, v.shares); }
inline auto members(Solved& v) { return std::tie(v.answer); }

// Decisions.
inline auto members(Start& v) {
  return std::tie(v.job, v.placement, v.because, v.term, v.milli, v.role, v.share);
}
inline auto members(Preempt& v) { return std::tie(v.job, v.because); }
inline auto members(Migrate& v) { return std::tie(v.job, v.placement, v.because); }
inline auto members(Reserve& v) { return std::tie(v.holds, v.because); }
inline auto members(Classify& v) { return std::tie(v.job, v.duration_class); }
inline auto members(Reject& v) { return std::tie(v.job, v.because); }

}  // namespace berth
