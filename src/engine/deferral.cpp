// Jobs that wait for the end of others, for a time, or for their turn in an array: when they may
// wait for a place as others do, and when they never can.
#include <algorithm>
#include <iterator>

#include "core/text/handle.hpp"
#include "engine/awaited.hpp"
#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

/// `never started: job 7 ended as failed, and it was to start only if that ended well`.
std::string never_text(const Never& never, const std::string& handle) {
  const std::string begin = std::string(kNeverStarted) + never.past(handle);
  if (!never.outcome) return begin + ", and it was to start only after that";
  const bool is_of_one = is_of_one_in_array(never.on) && *never.outcome == Outcome::Done;
  return begin + ", and it was to start only if " +
         (is_of_one                    ? "one did not"
          : never.on.when == After::Ok ? "that ended well"
                                       : "that did not end well");
}

/// One of no array has none, whatever it says.
bool has_turns(const ArrayPlace& array) { return array.tasks > 0 && array.at_once > 0; }

bool holds_turn(const Job& job) {
  const bool is_out =
      job.state == JobState::Deferred || (job.state == JobState::Held && !has_idle_process(job));
  return has_turns(job.spec.conditions->array) && !is_out;
}

}  // namespace

/// Mostly one job waits for others whose numbers follow each other, and is the last of all.
void Deferrals::add(const Job& job, Instant now) {
  auto near = followers.begin();
  for (const Dependency& on : job.spec.conditions->after) {
    near = followers.try_emplace(near, on.job);
    near->second.insert(near->second.end(), job.id);
    ++near;
  }
  add_beside_ends(job, now);
}

void Deferrals::add_beside_ends(const Job& job, Instant now) {
  if (job.spec.conditions.is_default()) return;
  const Conditions& asked = *job.spec.conditions;
  if (job.state == JobState::Deferred && asked.begin > now) begins.emplace(asked.begin, job.id);
  if (holds_turn(job)) turns[asked.array.first].taken.insert(job.id);
  if (waits_for_turn(job, now)) turns[asked.array.first].waiting.insert(job.id);
  if (!asked.unique.empty()) keys.emplace(std::pair(job.spec.user, asked.unique), job.id);
}

void Deferrals::remove(const Job& job) {
  auto near = followers.end();
  for (const Dependency& on : job.spec.conditions->after) {
    if (near == followers.end() || near->first != on.job) near = followers.find(on.job);
    if (near == followers.end()) continue;
    near->second.erase(job.id);
    near = near->second.empty() ? followers.erase(near) : std::next(near);
  }
  remove_beside_ends(job);
}

void Deferrals::end_met(JobId job, JobId of) {
  const auto found = followers.find(of);
  if (found == followers.end()) return;
  found->second.erase(job);
  if (found->second.empty()) followers.erase(found);
}

void Deferrals::remove_beside_ends(const Job& job) {
  if (job.spec.conditions.is_default()) return;
  const Conditions& asked = *job.spec.conditions;
  begins.erase({asked.begin, job.id});
  const auto key = keys.find({job.spec.user, asked.unique});
  if (key != keys.end() && key->second == job.id) keys.erase(key);
  const auto found = turns.find(asked.array.first);
  if (found == turns.end()) return;
  found->second.taken.erase(job.id);
  found->second.waiting.erase(job.id);
  if (found->second == Turns{}) turns.erase(found);
}

std::optional<JobId> Engine::job_with_key(UserId user, const std::string& key) const {
  const auto found = deferrals_.keys.find({user, key});
  return found == deferrals_.keys.end() ? std::nullopt : std::optional(found->second);
}

/// The first of its conditions that can never be met, in words; drops those that are met.
std::optional<Engine::NeverText> Engine::drop_met(Job& job, std::vector<JobId>& met) {
  if (job.spec.conditions->after.empty()) return std::nullopt;
  const auto fate_of = [&](const Dependency& on) -> Fate {
    if (on.ended) return {.is_open = false, .outcome = on.ended};
    if (const auto found = ended_.find(on.job); found != ended_.end()) {
      return {.is_open = false, .outcome = found->second.outcome};
    }
    return {.is_open = on.job < job.id && state_.jobs.find(on.job) != nullptr};
  };
  const auto never = settle_ends(job.spec.conditions.edit().after, fate_of, met);
  if (!never) return std::nullopt;
  const auto known = ended_.find(never->on.job);
  const ArrayPlace place = known == ended_.end() ? ArrayPlace() : known->second.array;
  const std::string handle = handle_of(never->on.job, place);
  return NeverText{.note = never_text(*never, handle),
                   .ahead = "it will never start" + std::string(never->outcome ? " if " : ": ") +
                            never->condition(handle)};
}

/// Why a new job can never start; nothing for one that can. Drops the conditions that are met.
std::optional<Engine::NeverText> Engine::never_begins(Job& job) {
  const std::string& key = job.spec.conditions->unique;
  const auto other = key.empty() ? std::nullopt : job_with_key(job.spec.user, key);
  if (other) {
    const ArrayPlace& place = state_.jobs.at(*other).spec.conditions->array;
    return NeverText{.note = std::string(kNeverStarted) + "job " + handle_of(*other, place) +
                             " has its key '" + key + "' already",
                     .ahead = {}};
  }
  std::vector<JobId> met;
  return drop_met(job, met);
}

/// Its state with what it waits for now: Deferred, or Queued as jobs are without conditions.
/// Requires: it waits for no place and has no process.
void Engine::queue_or_defer(Job& job) {
  const Conditions& asked = *job.spec.conditions;
  deferrals_.remove(job);
  const auto turns = deferrals_.turns.find(asked.array.first);
  const bool is_full = has_turns(asked.array) && turns != deferrals_.turns.end() &&
                       std::ssize(turns->second.taken) >= asked.array.at_once;
  const bool is_ready = asked.after.empty() && asked.begin <= now_ && !is_full;
  set_state(job, is_ready ? JobState::Queued : JobState::Deferred);
  deferrals_.add(job, now_);
  if (is_ready) emit(EventKind::Submitted, job.id);
}

/// Of a job that waits to start. It may wait for a place from now on, or no longer.
void Engine::change_begin(Job& job, Instant begin) {
  if (job.spec.conditions->begin == begin) return;
  const bool was_queued = job.state == JobState::Queued;
  leave_turn(job);
  job.spec.conditions.edit().begin = begin;
  deferrals_.add(job, now_);
  const bool is_other = was_queued ? begin > now_ : job.spec.conditions->after.empty();
  if (job.state == JobState::Held || !is_other) return;
  queue_or_defer(job);
  if (!was_queued) return;
  drop_holds(job.id);
  emit(EventKind::Withdrawn, job.id);
}

/// It waits for nothing any more, as it ends or is held.
void Engine::leave_turn(const Job& job) {
  deferrals_.remove(job);
  if (has_turns(job.spec.conditions->array)) left_turns_.insert(job.spec.conditions->array.first);
}

/// Of its array so many jobs have a turn from now on. Those that run keep theirs; of those that
/// wait for a place the last go back, as far as there are too many.
void Engine::change_turns(Job& job, std::int32_t at_once) {
  const ArrayPlace& place = job.spec.conditions->array;
  if (place.tasks == 0 || place.at_once == at_once) return;
  const JobId first = place.first;
  deferrals_.remove(job);
  job.spec.conditions.edit().array.at_once = at_once;
  deferrals_.add(job, now_);
  left_turns_.insert(first);
  const auto turns = deferrals_.turns.find(first);
  if (at_once == 0 || turns == deferrals_.turns.end()) return;
  const std::vector<JobId> taken(turns->second.taken.begin(), turns->second.taken.end());
  std::ptrdiff_t too_many = std::ssize(taken) - at_once;
  for (auto id = taken.rbegin(); id != taken.rend() && too_many > 0; ++id) {
    Job& other = state_.jobs.at(*id);
    if (other.state != JobState::Queued) continue;
    --too_many;
    deferrals_.remove(other);
    set_state(other, JobState::Deferred);
    deferrals_.add(other, now_);
    drop_holds(other.id);
    emit(EventKind::Withdrawn, other.id);
  }
}

void Engine::note_gone(const Job& job) {
  ended_[job.id] = {.outcome = job.outcome, .array = job.spec.conditions->array};
  if (deferrals_.followers.contains(job.id)) gone_.push_back(job.id);
  leave_turn(job);
}

/// A condition of a job is gone: it ended for good, or may start now. The others, which may be
/// thousands, are looked at and stay where they are.
void Engine::on_met(JobId id) {
  Job* const job = state_.jobs.find(id);
  if (job == nullptr || holds_berth(job->state)) return;
  const JobState before = job->state;
  std::vector<JobId> met;
  deferrals_.remove_beside_ends(*job);
  const auto never = drop_met(*job, met);
  deferrals_.add_beside_ends(*job, now_);
  for (const JobId of : met) deferrals_.end_met(id, of);
  if (never) {
    job->outcome = Outcome::Cancelled;
    return end(*job, never->note, never->ahead);
  }
  const bool may_start = job->spec.conditions->after.empty();
  if (before == JobState::Deferred && may_start) queue_or_defer(*job);
}

/// All that follows from ends and from time; each job once, in the order of numbers.
void Engine::settle_deferrals() {
  while (!deferrals_.begins.empty() && deferrals_.begins.begin()->first <= now_) {
    const JobId id = deferrals_.begins.begin()->second;
    deferrals_.begins.erase(deferrals_.begins.begin());
    on_met(id);
  }
  for (std::size_t next = 0; next < gone_.size(); ++next) {  // it grows: ends follow from ends
    const auto followers = deferrals_.followers.extract(gone_[next]);
    if (!followers) continue;
    for (const JobId follower : followers.mapped()) on_met(follower);
  }
  gone_.clear();
  while (!left_turns_.empty()) {
    const JobId array = *left_turns_.begin();
    left_turns_.erase(left_turns_.begin());
    fill_turns(array);
  }
}

void Engine::fill_turns(JobId array) {
  for (auto turns = deferrals_.turns.find(array);
       turns != deferrals_.turns.end() && !turns->second.waiting.empty();
       turns = deferrals_.turns.find(array)) {
    Job& job = state_.jobs.at(*turns->second.waiting.begin());
    queue_or_defer(job);
    if (job.state == JobState::Deferred) return;
  }
}

}  // namespace berth
