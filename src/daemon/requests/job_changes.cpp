#include "daemon/requests/job_changes.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/limits.hpp"
#include "core/text/handle.hpp"
#include "core/text/words.hpp"
#include "daemon/daemon.hpp"
#include "daemon/notices/audit.hpp"
#include "daemon/requests/admit.hpp"
#include "engine/possible.hpp"
#include "live/conductor.hpp"
#include "live/who_asked.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostInStep = live::kMostInStep;
/// A whole array. No row is written for these.
constexpr std::size_t kMostHeldInStep = limits::kMostTasks;
constexpr auto kVerbs = std::to_array<std::pair<std::string_view, JobVerb>>({
    {"cancel", JobVerb::Cancel},
    {"hold", JobVerb::Hold},
    {"release", JobVerb::Release},
    {"suspend", JobVerb::Suspend},
    {"resume", JobVerb::Resume},
    {"update", JobVerb::Update},
});

std::string_view verb_word(JobVerb verb) {
  return std::ranges::find(kVerbs, verb, &std::pair<std::string_view, JobVerb>::second)->first;
}

Denial conflict(const std::string& name, const std::string& what) {
  return {.status = 409, .message = name + ": " + what};
}

/// "" for a job that can be.
std::string why_not_resumed(const Job& job) {
  const bool is_being_suspended =
      job.state == JobState::Stopping && !job.ending && job.after_stop == JobState::Held;
  if (is_being_suspended) return "";
  const std::string state(word_for(shown_state(job)));
  if (!has_idle_process(job)) return "is " + state + ", only a suspended job can be resumed";
  if (job.state == JobState::Held) return "";
  return "was suspended by the scheduler and goes on when it is its turn";
}

bool could_start(const Job& job) {
  return job.state == JobState::Queued || job.state == JobState::Deferred;
}

}  // namespace

std::optional<JobVerb> job_verb(std::string_view word) {
  const auto* const found =
      std::ranges::find(kVerbs, word, &std::pair<std::string_view, JobVerb>::first);
  return found == kVerbs.end() ? std::nullopt : std::optional(found->second);
}

struct JobChanges::Run {
  JobsToChange asked;
  std::size_t at = 0;                  ///< The next job.
  std::size_t held = 0;                ///< Jobs that were looked at for a hold.
  bool are_held = true;                ///< None of them can start any more.
  std::vector<JobId> leaving = {};     ///< All that will be cancelled, of those looked at so far.
  std::optional<JobId> noted_on = {};  ///< The last of them has the note of that.
  std::size_t changed = 0;
  std::string jobs = {};  ///< What became of these, as a list of JSON without its ends.
  Json refused = Json::array();
  std::optional<Denial> denial = {};  ///< The first.
};

// ---- Rights ----------------------------------------------------------------------------------

Rights JobChanges::rights(const http::Exchange& exchange) const {
  return rights_of(exchange.request().peer, daemon_.options().roles);
}

std::string JobChanges::user_text(uid_t user) {
  const std::string number = std::to_string(user);
  const std::string name = names_.of(user);
  return name == number ? "uid " + number : name + " (uid " + number + ")";
}

std::string JobChanges::handle_of(JobId id) const { return daemon_.keeper().handle_of(id); }

std::optional<Denial> JobChanges::why_not(http::Exchange& exchange, JobId id, Rights on_others) {
  std::optional<UserId> owner;
  if (const Job* const job = daemon_.keeper().engine().view().find(id)) {
    owner = job->spec.user;
  } else {
    const auto row = daemon_.keeper().store().job(id);
    if (!row) return Denial{.status = 500, .message = row.error().message};
    if (!*row) return Denial{.status = 404, .message = name_of(id) + ": no such job"};
    if (!(*row)->is_damaged) owner = (*row)->spec.user;
  }
  if (owner) note_owner(exchange, *owner);
  const uid_t peer = exchange.request().peer.user;
  const bool is_own = owner && owner->value() == peer;
  // Whose a damaged row is cannot be known, so it is the administrator's.
  if (is_own || rights(exchange) >= (owner ? on_others : Rights::Admin)) return std::nullopt;
  if (!owner) {
    return Denial{.status = 403, .message = name_of(id) + ": its row is damaged, so it is root's"};
  }
  return Denial{.status = 403,
                .message = name_of(id) + ": belongs to " + user_text(owner->value()) +
                           ", you are " + user_text(peer) +
                           (on_others == Rights::Admin
                                ? "; others' logs are for administrators (`admins` in berth.toml)"
                                : "; others' jobs are for operators (`operators` in berth.toml)")};
}

std::optional<Denial> JobChanges::why_not_of(http::Exchange& exchange, UserId user,
                                             Rights on_others) {
  const uid_t by = exchange.request().peer.user;
  note_owner(exchange, user);
  if (by == user.value() || rights(exchange) >= on_others) return std::nullopt;
  return Denial{.status = 403,
                .message = "jobs of " + user_text(user.value()) + ": you are " + user_text(by) +
                           "; others' jobs are for operators (`operators` in berth.toml)"};
}

// ---- Changes ---------------------------------------------------------------------------------

void JobChanges::carry_out(JobsToChange asked) {
  const auto run = std::make_shared<Run>(std::move(asked));
  for (const Missing& one : run->asked.missing) {
    run->refused.push_back({{"handle", one.typed}, {"error", one.why}});
  }
  if (run->asked.verb == JobVerb::Cancel) begin_cancel(*run);
  run->are_held ? go_on(run) : keep_from_starting(run);
}

/// One that waits would start in the place of one that is ended, if that went first.
void JobChanges::begin_cancel(Run& run) {
  const ClusterView view = daemon_.keeper().engine().view();
  const auto is_queued = [&](JobId id) {
    const Job* const job = view.find(id);
    return job != nullptr && !holds_berth(job->state);
  };
  const auto rest = std::ranges::stable_partition(run.asked.jobs, is_queued);
  const auto waiting = run.asked.jobs.size() - rest.size();
  run.are_held = waiting <= kMostInStep || !daemon_.site().holds_to_cancel();
}

/// Those that wait are cancelled in several steps: none may start before its turn comes. The last
/// are held first: a task that is held gives its turn to the next, and those have none.
void JobChanges::keep_from_starting(const std::shared_ptr<Run>& run) {
  const ClusterView view = daemon_.keeper().engine().view();
  std::vector<Input> inputs;
  const std::vector<JobId>& jobs = run->asked.jobs;
  const std::size_t end = std::min(jobs.size(), run->held + kMostHeldInStep);
  inputs.reserve(end - run->held);  // a megabyte, once
  for (; run->held < end; ++run->held) {
    const Job* const job = view.find(jobs[jobs.size() - 1 - run->held]);
    if (job == nullptr || why_not(*run->asked.exchange, job->id, run->asked.on_others)) continue;
    run->leaving.push_back(job->id);
    if (!could_start(*job)) continue;
    inputs.emplace_back(HoldAsked{job->id});
    if (!run->noted_on) run->noted_on = job->id;
  }
  run->are_held = run->held == jobs.size();
  if (inputs.empty()) return go_on_in_turn(run);
  note_wish(*run);
  daemon_.ask({.submission = std::nullopt,
               .inputs = std::move(inputs),
               .exchange = run->asked.exchange,
               .answer = [this, run](JobId) -> std::optional<http::Response> {
                 go_on_in_turn(run);
                 return std::nullopt;
               },
               .fail = [this, run] { drop_wish(*run); }});
}

/// The next daemon goes on with it. The note is of the last job that waits, and goes with that one:
/// a row for each would take too long.
void JobChanges::note_wish(const Run& run) {
  std::vector<JobId> jobs = run.leaving;
  std::ranges::sort(jobs);
  const uid_t by = run.asked.exchange->request().peer.user;
  daemon_.note_for_good(*run.noted_on, live::wish_note(user_text(by), jobs));
}

/// Who asked is told that it was not done.
void JobChanges::drop_wish(const Run& run) {
  if (run.noted_on) daemon_.note(*run.noted_on, "");
}

void JobChanges::go_on_in_turn(const std::shared_ptr<Run>& run) {
  daemon_.on_turn_of(run->asked.exchange->request().peer.user,
                     [this, run] { run->are_held ? go_on(run) : keep_from_starting(run); });
}

/// As many as one step takes.
void JobChanges::go_on(const std::shared_ptr<Run>& run) {
  std::vector<Input> inputs;
  std::vector<JobId> changed;
  const std::size_t end = std::min(run->asked.jobs.size(), run->at + kMostInStep);
  for (; run->at < end; ++run->at) {
    const JobId id = run->asked.jobs[run->at];
    Wanted wanted = input_for(*run, id);
    if (auto* const denial = std::get_if<Denial>(&wanted)) {
      Json refused = {{"id", id.value()}, {"error", denial->message}};
      if (const std::string handle = handle_of(id); handle.contains('_'))
        refused["handle"] = handle;
      run->refused.push_back(std::move(refused));
      if (!run->denial) run->denial = std::move(*denial);
    } else {
      inputs.push_back(std::move(std::get<Input>(wanted)));
      changed.push_back(id);
    }
  }
  const bool is_over = run->at == run->asked.jobs.size();
  if (inputs.empty() && is_over) return run->asked.exchange->respond(final_answer(*run));
  if (inputs.empty()) return go_on_in_turn(run);
  const std::size_t before = run->changed;
  daemon_.ask({.submission = std::nullopt,
               .inputs = std::move(inputs),
               .exchange = run->asked.exchange,
               .answer = [this, run, changed, is_over](JobId) -> std::optional<http::Response> {
                 answer(run, changed);
                 if (is_over) return final_answer(*run);
                 go_on_in_turn(run);
                 return std::nullopt;
               },
               .so_far = before == 0 ? ""
                                     : std::to_string(before) + " jobs are done (" +
                                           std::string(verb_word(run->asked.verb)) + "), then ",
               .fail = [this, run] { drop_wish(*run); }});
}

/// What became of them in the step.
void JobChanges::answer(const std::shared_ptr<Run>& run, const std::vector<JobId>& changed) {
  const JobVerb verb = run->asked.verb;
  for (const JobId id : changed) {
    if (verb == JobVerb::Hold) daemon_.site().on_user_hold(id, true);
    if (verb == JobVerb::Release) daemon_.site().on_user_hold(id, false);
    if (run->changed++ > 0) run->jobs += ',';
    run->jobs += to_body(daemon_.presenter().brief(id));
  }
}

http::Response JobChanges::final_answer(const Run& run) const {
  if (run.asked.answer == JobsToChange::Answer::OfOne) {
    if (run.denial) {
      return {.status = run.denial->status, .body = http::error_body(run.denial->message)};
    }
    return {.status = 200, .body = run.jobs};
  }
  return {.status = 200,
          .body = "{\"jobs\":[" + run.jobs + "],\"refused\":" + to_body(run.refused) + "}"};
}

// ---- One job ---------------------------------------------------------------------------------

JobChanges::Wanted JobChanges::input_for(const Run& run, JobId id) {
  if (auto denial = why_not(*run.asked.exchange, id, run.asked.on_others))
    return std::move(*denial);
  const Job* const job = daemon_.keeper().engine().view().find(id);
  const std::string name = name_of(id);
  if (job == nullptr) return conflict(name, "has ended already");
  if (run.asked.verb == JobVerb::Update) {
    return updated({.job = *job,
                    .change = run.asked.change,
                    .name = name,
                    .rights = rights(*run.asked.exchange)});
  }
  Wanted wanted = input_for(run.asked.verb, *job, name);
  if (std::holds_alternative<Input>(wanted)) note_who(run, *job);
  return wanted;
}

/// Who keeps a job from running, or ends it, where that is not its owner.
void JobChanges::note_who(const Run& run, const Job& job) {
  const JobVerb verb = run.asked.verb;
  const bool keeps = verb == JobVerb::Hold || verb == JobVerb::Suspend;
  const uid_t by = run.asked.exchange->request().peer.user;
  if (verb == JobVerb::Cancel && by != job.spec.user.value()) {
    return daemon_.note_for_good(job.id, live::cancel_note(user_text(by)));
  }
  const bool starts_again = daemon_.keeper().note_of(job.id).starts_with(live::kPreempted);
  if (verb == JobVerb::Cancel && starts_again) daemon_.note(job.id, "");  // it does not any more
  if (verb == JobVerb::Resume) return daemon_.note(job.id, std::string(live::kResumed));
  if (!keeps && verb != JobVerb::Release) return;
  if (keeps && by != job.spec.user.value()) {
    return daemon_.note_for_good(job.id,
                                 std::string(live::kBecause) + user_text(by) + " asked for that");
  }
  const std::string note = daemon_.keeper().note_of(job.id);
  if (note.starts_with(live::kBecause) || note == live::kResumed) daemon_.note(job.id, "");
}

JobChanges::Wanted JobChanges::input_for(JobVerb verb, const Job& job,
                                         const std::string& name) const {
  std::string why;
  switch (verb) {
    case JobVerb::Cancel:
      if (job.ending) return conflict(name, "is ending already");
      return Input(CancelAsked{job.id});
    case JobVerb::Hold:
      if (could_start(job)) return Input(HoldAsked{job.id});
      if (shown_state(job) == JobState::Held) return conflict(name, "is held already");
      return conflict(name, "is " + std::string(word_for(shown_state(job))) +
                                ", only a job that waits can be held");
    case JobVerb::Suspend:
      why = why_not_suspended(job);
      if (why.empty()) return Input(SuspendAsked{job.id});
      return conflict(name, why);
    case JobVerb::Resume:
    case JobVerb::Release:
      why = verb == JobVerb::Resume ? why_not_resumed(job) : why_not_released(job);
      if (why.empty()) return Input(ReleaseAsked{job.id});
      return conflict(name, why);
    case JobVerb::Update:
      break;
  }
  return conflict(name, "nothing is to be changed");
}

std::string JobChanges::why_not_released(const Job& job) const {
  if (job.state != JobState::Held || has_idle_process(job)) {
    return "is " + std::string(word_for(shown_state(job))) + ", only a held job can be released";
  }
  const ClusterView view = daemon_.keeper().engine().view();
  if (const auto why = why_impossible(job.id, job.spec.request, view.cluster())) {
    return why->substr(why->find(": ") + 2);
  }
  return daemon_.site().why_not_released(job.id);
}

/// "" for a job that can be.
std::string JobChanges::why_not_suspended(const Job& job) const {
  if (is_adopted(job.spec)) return "was started by hand and adopted, and is never suspended";
  const std::string& no = daemon_.machine().no_suspension;
  if (!no.empty()) return "cannot be suspended: " + no;
  const bool is_preempted = !job.ending && job.after_stop == JobState::Suspended &&
                            (job.state == JobState::Stopping || is_waiting(job.state));
  if (job.state == JobState::Running || is_preempted) return "";
  const std::string state(word_for(shown_state(job)));
  if (has_idle_process(job)) return "is " + state + " already";
  return "is " + state + ", only a running job can be suspended";
}

JobChanges::Wanted JobChanges::updated(const UpdateAsked& asked) const {
  auto updated = admit_update(asked, daemon_);
  if (updated) return Input(std::move(*updated));
  const bool is_conflict = updated.error().code == ErrorCode::Conflict;
  return Denial{.status = is_conflict ? 409 : 422, .message = updated.error().message};
}

}  // namespace berth::daemon
