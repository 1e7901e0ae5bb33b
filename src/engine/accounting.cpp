// State changes that inputs and decisions share: grants and releases, time and service, ends.
#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "core/base/assert.hpp"
#include "core/base/limits.hpp"
#include "core/base/wide.hpp"
#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

std::int64_t parts_per_billion(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::int64_t>(Wide{part} * 1'000'000'000 / whole);
}

void insert_ascending(std::vector<JobId>& jobs, JobId job) {
  jobs.insert(std::ranges::lower_bound(jobs, job), job);
}

Home home_of(const Cluster& cluster, const Grant& grant) {
  std::vector<NodeId> nodes;
  for_each_node(cluster, grant, [&](NodeId node, std::size_t here) {
    nodes.insert(nodes.end(), std::max<std::size_t>(1, here), node);
  });
  return nodes;
}

void erase_ascending(std::vector<JobId>& jobs, JobId job) {
  const auto at = std::ranges::lower_bound(jobs, job);
  BERTH_ASSERT(at != jobs.end() && *at == job);
  jobs.erase(at);
}

}  // namespace

Job* Engine::attempt(JobId id, Attempt attempt) {
  Job* const job = state_.jobs.find(id);
  return job != nullptr && job->attempt == attempt ? job : nullptr;
}

void Engine::settle(UserId user) {
  state_.accounts[user].settle(now_, state_.settings.service_half_life);
}

std::int64_t Engine::share_of(const Account& account) const {
  return std::max(parts_per_billion(account.worth.gpus, state_.worth.gpus),
                  parts_per_billion(account.worth.memory.raw(), state_.worth.memory.raw()));
}

/// Of what is in force, and what users hold by it.
void Engine::value_gpus() {
  const GpuValues& values = state_.settings.gpu_values;
  state_.gpu_values.clear();
  for (const std::string& type : state_.cluster.type_names()) {
    const auto known = values.find(type);
    state_.gpu_values.push_back(known == values.end() ? kUsualValue : known->second);
  }
  state_.worth = {};
  for (const GpuId gpu : state_.cluster.gpu_ids()) {
    state_.worth.add(worth_of(gpu, state_.cluster.gpu(gpu).capacity));
  }
  for (auto& [user, account] : state_.accounts) account.worth = {};
  for (const JobId id : state_.running) {
    const Job& job = state_.jobs.at(id);
    const auto account = state_.accounts.find(job.spec.user);
    if (account == state_.accounts.end()) continue;  // which check() finds
    for (const Share& share : job.grant.shares) {
      account->second.worth.add(worth_of(share.gpu, share.charge));
    }
  }
}

Worth Engine::worth_of(GpuId gpu, Bytes charge) const {
  const std::int64_t value = ClusterView(state_, now_).value_of(gpu);
  const Wide memory = Wide{charge.raw()} * value / kUsualValue;
  return {.gpus = value, .memory = Bytes(static_cast<std::int64_t>(memory))};
}

void Engine::count(Account& account, const Grant& grant, int sign) const {
  account.gpus += grant.gpus() * sign;
  account.jobs += sign;
  for (const Share& share : grant.shares) {
    account.charges += share.charge * sign;
    account.worth.add(worth_of(share.gpu, share.charge), sign);
  }
}

void Engine::weigh(UserId user) {
  Account& account = state_.accounts[user];
  account.share_ppb = share_of(account);
}

void Engine::hold(const Job& job, int sign) {
  settle(job.spec.user);
  count(state_.accounts[job.spec.user], job.grant, sign);
  weigh(job.spec.user);
}

void Engine::set_state(Job& job, JobState state) {
  const bool before = holds_berth(job.state);
  const bool after = holds_berth(state);
  if (before != after) {
    (before ? job.ran : job.waited) += (before ? job.ended.value_or(now_) : now_) - job.since;
    job.since = now_;
  }
  job.state = state;
}

bool Engine::is_well_formed(const Placement& placement, const Job& job) const {
  const auto& gpus = placement.gpus;
  const GpuRequest& asked = job.spec.request.gpu;
  if (std::ssize(gpus) < asked.least().raw() || std::ssize(gpus) > asked.most().raw()) return false;
  if (placement.host.value() >= state_.cluster.nodes().size()) return false;
  if (gpus.empty()) return true;
  const bool ascending =
      std::ranges::adjacent_find(gpus, std::ranges::greater_equal()) == gpus.end();
  return ascending && gpus.back().value() < state_.cluster.gpus().size() &&
         state_.cluster.node_of(gpus.front()) == placement.host;
}

bool Engine::is_valid(std::span<const Hold> holds) const {
  return std::ranges::all_of(holds, [&](const Hold& hold) {
    const Job* const job = state_.jobs.find(hold.job);
    if (job == nullptr) return false;
    const bool will_wait = job->state == JobState::Stopping;  // or end; then it is dropped
    return (is_waiting(job->state) || will_wait) && is_well_formed(hold.placement, *job);
  });
}

bool Engine::is_within_limits(const Job& job, GpuCount gpus) const {
  const UserLimits& limits = state_.settings.limits_of(job.spec.user);
  if (!limits.any()) return true;
  const auto found = state_.accounts.find(job.spec.user);
  const Account account = found == state_.accounts.end() ? Account{} : found->second;
  return within(limits, account.gpus, account.jobs, gpus);
}

bool Engine::grant(Job& job, const Start& start) {
  const Placement& placement = start.placement;
  if (!is_well_formed(placement, job)) return false;
  const GpuCount gpus(std::ssize(placement.gpus));
  if (!is_within_limits(job, gpus)) return false;
  Ask ask = ask_of(JobView(job, now_), gpus);
  ask.barred = bars_of(job);
  if (start.milli > GpuMilli(0)) ask.request.gpu.milli = start.milli;
  if (!fits(state_.cluster, state_.ledger.use(), placement, ask)) return false;
  job.grant = state_.ledger.use().grant_for(state_.cluster, ask, placement);
  job.grant.role = start.role;
  job.grant.share = start.share;
  job.lease = later(now_, start.term);
  job.rooted = 0;
  job.bound = 0;
  if (state_.settings.suspends_in_place && is_kept(job))
    job.home = home_of(state_.cluster, job.grant);
  if (state_.settings.suspends_on_type && is_kept(job)) bind(job);
  take_berth(job);
  return true;
}

/// A gang on several types goes on with its own GPUs, as which of them was which type matters.
void Engine::bind(Job& job) {
  if (state_.cluster.type_names().size() < 2) return;
  GpuSet all = 0;
  for (const Share& share : job.grant.shares) {
    job.bound |= state_.cluster.type_bit(share.gpu);
    all |= state_.cluster.gpu(share.gpu).self;
  }
  const bool are_all_known = std::popcount(all) == std::ssize(job.grant.shares);
  if (std::popcount(job.bound) > 1 && are_all_known) job.rooted = all;
}

/// Requires: it has its grant and its lease, and both are written down nowhere yet.
void Engine::take_berth(Job& job) {
  job.grant_number = ++state_.grants;
  state_.ledger.put(state_.cluster, job.grant);
  hold(job, 1);
  set_state(job, JobState::Starting);
  if (job.first_start == kNever) job.first_start = now_;
  insert_ascending(state_.running, job.id);
  for (const JobId id : neighbours_of(job)) pass_company(state_.jobs.at(id), now_);
  for (const Share& share : job.grant.shares) {
    insert_ascending(state_.tenants[share.gpu.value()], job.id);
  }
  drop_holds(job.id);
  watch_time_limit(job);
  emit(EventKind::Granted, job.id);
}

/// Of a job that the step before did not know.
void Engine::reject(Job& job, const std::string& why) {
  effects_.list.push_back(Finished{job.id, Outcome::Rejected, 0, why, now_});
  ended_[job.id] = {.outcome = Outcome::Rejected, .array = job.spec.conditions->array};
  state_.jobs.erase(job.id);
}

/// The other tenants of the GPUs of its grant, ascending.
std::vector<JobId> Engine::neighbours_of(const Job& job) const {
  std::vector<JobId> others;
  for (const Share& share : job.grant.shares) {
    const auto& tenants = state_.tenants[share.gpu.value()];
    std::ranges::copy_if(tenants, std::back_inserter(others),
                         [&](JobId id) { return id != job.id; });
  }
  std::ranges::sort(others);
  others.erase(std::ranges::unique(others).begin(), others.end());
  return others;
}

/// Its one neighbour; 0 of several.
std::optional<JobId> Engine::beside_of(const Job& job) const {
  const std::vector<JobId> others = neighbours_of(job);
  if (others.empty()) return std::nullopt;
  return others.size() == 1 ? others.front() : JobId(0);
}

/// The neighbours that this job has had up to `at` are about to change.
void Engine::pass_company(const Job& job, Instant at) {
  Company& company = state_.company;
  const Instant until = std::min(at, job.ended.value_or(at));
  const auto beside = beside_of(job);
  if (!beside) {
    std::int16_t busy = kUnknownUtilisation;
    for (const Share& share : job.grant.shares) {
      busy = std::max(busy, state_.ledger.use().gpu(share.gpu).utilisation);
    }
    company.saw_alone(job.id, busy, job.since, until);
  }
  company.pass(job.id, beside, job.since, until);
}

/// Its berth ends. A run shows how long its program takes if it was there from its beginning to its
/// end, on as many GPUs as asked for, and repeated nothing.
void Engine::note_company(const Job& job) {
  Company& company = state_.company;
  const Instant at = job.ended.value_or(now_);
  for (const JobId id : neighbours_of(job)) pass_company(state_.jobs.at(id), at);
  pass_company(job, at);
  company.leave(job.id);
  const bool is_usual = std::ssize(job.grant.shares) == job.spec.request.gpu.count.raw() &&
                        !is_adopted(job.spec) &&
                        (!saves_itself(job) || job.ran_before == Duration::zero());
  if (job.ending && job.outcome == Outcome::Done && is_usual) {
    company.learn(job.id, run_of(job, now_));
  }
  const bool goes_on = !job.ending && job.after_stop != JobState::Queued;
  if (!goes_on) company.part(job.id);
}

/// The user is not charged for the time between the end of a process and its discovery: the user's
/// holdings since then count without this job.
void Engine::note_end(Job& job, Instant at) {
  job.ended = std::clamp(at, job.since, now_);
  if (!holds_berth(job.state)) return;
  if (!job.leaving) job.leaving = now_;
  if (*job.ended == now_) return;
  Account& account = state_.accounts[job.spec.user];
  const Duration half_life = state_.settings.service_half_life;
  account.settle(std::max(account.as_of, *job.ended), half_life);
  count(account, job.grant, -1);
  weigh(job.spec.user);
  account.settle(now_, half_life);
  count(account, job.grant, 1);
  weigh(job.spec.user);
}

void Engine::release(Job& job) {
  note_company(job);
  if (job.spec.time_limit != kForever) time_limits_.erase({time_limit_at(job), job.id});
  if (job.lease != kNever) leases_.erase({job.lease, job.id});
  hold(job, -1);
  state_.ledger.take(state_.cluster, job.grant);
  job.attained = attained_of(job, now_);
  erase_ascending(state_.running, job.id);
  for (const Share& share : job.grant.shares) {
    erase_ascending(state_.tenants[share.gpu.value()], job.id);
  }
  job.grant = {};
  job.lease = kNever;
}

void Engine::watch_time_limit(const Job& job) {
  if (job.spec.time_limit != kForever) time_limits_.emplace(time_limit_at(job), job.id);
  if (job.lease != kNever) leases_.emplace(job.lease, job.id);
}

/// Of a job that has started.
void Engine::change_limit(Job& job, Duration limit) {
  if (job.spec.time_limit == limit) return;
  if (job.spec.time_limit != kForever) time_limits_.erase({time_limit_at(job), job.id});
  job.spec.time_limit = limit;
  make_sensible(job.spec);
  if (holds_berth(job.state)) {
    watch_time_limit(job);
    return emit(EventKind::Changed, job.id);
  }
  if (!is_waiting(job.state)) return;
  emit(EventKind::Withdrawn, job.id);
  emit(EventKind::Submitted, job.id);
}

/// Policies rank by it.
void Engine::change_suspending(Job& job, Suspending suspending) {
  if (job.spec.suspending == suspending || is_adopted(job.spec)) return;
  job.spec.suspending = suspending;
  if (holds_berth(job.state)) return emit(EventKind::Changed, job.id);
  if (!is_waiting(job.state)) return;
  emit(EventKind::Withdrawn, job.id);
  emit(EventKind::Submitted, job.id);
}

/// Its berth is over by the policy's own word: no preemption, except that it may cost as much.
void Engine::end_leases() {
  while (!leases_.empty() && leases_.begin()->first <= now_) {
    Job& job = state_.jobs.at(leases_.begin()->second);
    leases_.erase(leases_.begin());
    if (!is_running(job.state)) continue;
    BERTH_ASSERT(!is_adopted(job.spec));
    if (!is_kept(job)) ++job.preemptions;
    stop(job, PreemptHow::Suspend, StopFor::LeaseEnd);
    emit(EventKind::Preempted, job.id);
  }
}

void Engine::stop(Job& job, PreemptHow how, StopFor why) {
  if (how == PreemptHow::Suspend && !is_kept(job)) how = PreemptHow::Requeue;
  job.after_stop = how == PreemptHow::Suspend ? JobState::Suspended : JobState::Queued;
  if (how == PreemptHow::Suspend) job.in_host = view().held_by(job);
  set_state(job, JobState::Stopping);
  effects_.list.push_back(Stop{job.id, job.attempt, how, why});
}

void Engine::stop_for_good(Job& job, Outcome outcome, StopFor why) {
  job.ending = true;
  job.outcome = outcome;
  stop(job, PreemptHow::Kill, why);
  emit(EventKind::Ended, job.id);
}

/// Requires: its berth was released just now.
void Engine::note_history(const Job& job) {
  state_.history.add({.job = job.id,
                      .user = job.spec.user,
                      .what = state_.company.of(job.id),
                      .gpus = job.spec.request.gpu.count,
                      .duration_class = job.spec.duration_class,
                      .ran = JobView(job, now_).progressed(),
                      .attained = job.attained,
                      .outcome = job.outcome,
                      .at = job.ended.value_or(now_)});
  const Fingerprint what = state_.company.of(job.id);
  if (what == Fingerprint(0) || !is_whole_run(job.outcome)) return;
  state_.past_runs.add(
      job.spec.user, what,
      {.gpus = job.spec.request.gpu.count, .ran = JobView(job, now_).progressed()});
}

/// Its berth was released. One that is started again has its whole time limit again; one that is
/// suspended goes on with what is left, and at its very limit would do so for no time at all. One
/// that was adopted is not started again.
void Engine::wait_again(Job& job, JobState state) {
  if (is_adopted(job.spec)) {
    set_state(job, JobState::Queued);
    note_history(job);
    return end(job);
  }
  set_state(job, state);
  if (state == JobState::Queued) {
    job.ran_before = job.ran;
    job.home = {};
    job.rooted = 0;
    job.bound = 0;
    job.in_host = Bytes(0);
  }
  job.migrating = false;
  job.ended.reset();
  job.leaving.reset();
  job.ran_out = false;
  job.hurt_by.reset();
  if (state == JobState::Held) {  // by its user, who suspended it
    job.after_stop = JobState::Suspended;
    drop_holds(job.id);
  }
  const auto what = state == JobState::Held ? EventKind::Withdrawn : EventKind::Requeued;
  if (run_of(job, now_) < job.spec.time_limit) return emit(what, job.id);
  job.outcome = Outcome::Timeout;
  note_history(job);
  end(job);
}

void Engine::end(Job& job, std::string note, std::string ahead) {
  if (holds_berth(job.state)) note_history(job);
  if (has_idle_process(job)) {  // its process is still there, without GPUs
    effects_.list.push_back(Stop{job.id, job.attempt, PreemptHow::Kill, StopFor::Cancel});
  }
  effects_.list.push_back(Finished{.job = job.id,
                                   .outcome = job.outcome,
                                   .code = job.exit_code,
                                   .note = std::move(note),
                                   .at = job.ended.value_or(now_),
                                   .ahead = std::move(ahead)});
  note_gone(job);
  emit(EventKind::Forgotten, job.id);
  drop_holds(job.id);
  state_.company.forget(job.id);
  state_.jobs.erase(job.id);
}

void Engine::drop_holds(JobId id) {
  std::erase_if(state_.holds, [&](const Hold& hold) { return hold.job == id; });
}

std::optional<std::string> Engine::impossible(const Job& job) const {
  if (auto why = why_impossible(job.id, job.spec.request, state_.cluster)) return why;
  return why_unkeepable(job.id, job.spec);
}

/// No time that a snapshot would not hold, and no estimate of GPU memory that no placement could
/// ever hold: a job must not be lost by a prediction, so it gets whole GPUs then.
void Engine::make_sensible(JobSpec& spec) const {
  for (Duration* const time : {&spec.time_limit, &spec.estimate}) {
    if (*time != kForever) *time = std::clamp(*time, Duration::zero(), limits::kLongestTime);
  }
  spec.learned_from = std::max(0, spec.learned_from);
  if (spec.vram_estimate == Bytes(0)) return;
  Request asked = spec.request;
  asked.gpu.vram = spec.vram_estimate;
  if (why_impossible(JobId(0), asked, state_.cluster)) spec.vram_estimate = Bytes(0);
}

}  // namespace berth
