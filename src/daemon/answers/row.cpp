#include "daemon/answers/row.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include "core/text/job_fields.hpp"
#include "core/text/points.hpp"
#include "core/text/saving_text.hpp"
#include "core/text/words.hpp"
#include "daemon/answers/hiding.hpp"
#include "daemon/attempts/latest_run.hpp"
#include "daemon/attempts/oom.hpp"
#include "daemon/loop/json_text.hpp"
#include "engine/explain.hpp"
#include "live/keeper.hpp"
#include "live/surplus.hpp"
#include "live/who_asked.hpp"

namespace berth::daemon {

namespace {

constexpr int kTimeoutCode = 124;
constexpr int kLostCode = 125;
constexpr int kCancelledCode = 137;
constexpr std::size_t kMostReasons = 16;
constexpr std::size_t kMostNamed = 8;  ///< Jobs that a reason names.

/// `2026-11-30 14:01:44 +0100`, by which who reads it in another zone can tell it in theirs.
std::string local_text(Instant at) {
  const std::time_t then = micros(at) / 1'000'000;
  std::tm parts{};
  ::localtime_r(&then, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &parts);
  return text.data();
}

std::string list_of(const std::vector<GpuId>& gpus) {
  std::string list = "[";
  for (const GpuId gpu : gpus) list += (list.size() > 1 ? "," : "") + std::to_string(gpu.value());
  return list + "]";
}

/// Of a job that the engine knows: what it still waits for.
void add_conditions(JsonObject& json, const Conditions& asked, const Sight& sight) {
  if (!asked.after.empty()) {
    std::string list;
    for (const Dependency& on : asked.after) {
      JsonObject one(list.empty() ? list += "[" : list += ",");
      one.integer("job", static_cast<std::int64_t>(on.job.value())).text("when", word_for(on.when));
      if (on.array != JobId(0)) one.integer("array", static_cast<std::int64_t>(on.array.value()));
      one.close();
    }
    json.raw("after", list + "]");
  }
  if (asked.adopted) json.boolean("adopted", true);
  const std::string key = sight.word(asked.unique);
  if (!key.empty()) json.text("unique", key);
  if (!asked.requeue_on.empty() || asked.requeue_on_gpu_failure) {
    std::string list = asked.requeue_on_gpu_failure ? "[\"gpu-failure\"" : "";
    for (const std::int32_t code : asked.requeue_on) {
      list += (list.empty() ? "[" : ",") + std::to_string(code);
    }
    json.raw("requeue_on", list + "]");
  }
  if (const Saving& saving = asked.on_preempt; saving.signal != 0) {
    std::string object;
    JsonObject one(object);
    one.text("signal", signal_name(saving.signal)).seconds("grace_seconds", saving.grace);
    one.close();
    json.raw("on_preempt", object);
  }
}

void add_said(JsonObject& json, const JobField& field, const JobSpec& spec, const Sight& sight) {
  const FieldMember& member = field.member;
  if (member.text != nullptr) {
    const std::string text = sight.word(member.text(spec));
    if (!text.empty()) json.text(field.name, text);
    return;
  }
  const std::int64_t number = member.number == nullptr ? member.unsaid : member.number(spec);
  if (number == member.unsaid) return;
  const std::int64_t in_one = counted_of_one(field.kind);
  if (in_one == 1) {
    json.integer(field.name, number);
  } else {
    std::string stated;
    append_millionths(stated, number * (1'000'000 / in_one));
    json.raw(field.name, stated);
  }
}

void add_request(JsonObject& json, const JobSpec& spec, const Sight& sight) {
  std::string cpus;
  append_millionths(cpus, spec.request.cpu.raw() * 1000);
  const GpuRequest& gpu = spec.request.gpu;
  json.integer("gpu_count", gpu.count.raw());
  gpu.vram == Bytes(0) ? json.null("vram_bytes") : json.integer("vram_bytes", gpu.vram.raw());
  json.boolean("exclusive", gpu.sharing == Sharing::Alone)
      .raw("cpus", cpus)
      .integer("mem_bytes", spec.request.host.raw())
      .text("class", word_for(spec.duration_class))
      .integer("retries", spec.retries)
      .seconds("time_limit_seconds", spec.time_limit);
  // What few jobs say is there only where it is said: lists are long.
  for (const JobField& field : kJobFields) {
    if (field.shown == FieldShown::IfSaid) add_said(json, field, spec, sight);
  }
  if (gpu.sharing == Sharing::AtOnce) json.text("share", word_for(gpu.sharing));
  if (spec.suspending != Suspending::Unsaid) {
    json.boolean("suspend", spec.suspending == Suspending::Yes);
  }
  if (gpu.only != 0) json.raw("gpu_indices", list_of(gpus_in(gpu.only)));
  if (spec.learned_from > 0) json.integer("estimate_learned_from", spec.learned_from);
  const bool is_learned = gpu.vram == Bytes(0) && spec.vram_estimate > Bytes(0);
  if (is_learned) json.integer("vram_learned_bytes", spec.vram_estimate.raw());
  if (!spec.conditions.is_default()) add_conditions(json, *spec.conditions, sight);
}

/// What a sweep gives to this task of it.
void add_parameters(JsonObject& json, const journal::JobRow& row, const Sight& sight) {
  const ArrayPlace& place = row.spec.conditions->array;
  const Point point = sight.sees_words() ? point_of(row.name, place) : Point();
  if (point.empty()) return;
  std::string list;
  JsonObject values(list);
  for (const Parameter& one : point) values.text(one.name, one.value);
  values.close();
  json.raw("parameters", list);
}

/// Of a task of an array. Its number alone is, for the first one, that of the whole array.
void add_array_place(JsonObject& json, JobId id, const ArrayPlace& place) {
  if (place.tasks == 0) return;
  json.integer("array", static_cast<std::int64_t>(place.first.value()))
      .integer("array_task", place.task)
      .integer("array_tasks", place.tasks);
  if (array_of(id, place)) json.text("handle", handle_of(id, place));
}

/// Of a row that is damaged nothing may be shown as true, so nothing of it is shown: only what the
/// engine knows.
void append_damaged(std::string& out, JobId id, const RowTexts& texts, const Viewer& viewer) {
  auto& [reasons, names, keeper, now] = texts;
  const Job* const job = keeper.engine().view().find(id);
  JsonObject json(out);
  json.integer("id", static_cast<std::int64_t>(id.value()))
      .text("name", "")
      .text("state", job != nullptr ? word_for(shown_state(*job)) : word_for(Outcome::Lost))
      .text("reason", job != nullptr ? reasons.of(*job).full : "")
      .text("user_name", job != nullptr ? names.of(job->spec.user.value()) : "")
      .text("command_line", "")
      .raw("gpus", job != nullptr ? list_of(live::gpus_of(job->grant)) : "[]")
      .text("note", "job " + std::to_string(id.value()) + ": its row is damaged");
  for (const char* const unknown : {"submitted_at", "started_at", "ended_at"}) json.null(unknown);
  if (job != nullptr) {
    json.integer("user", job->spec.user.value())
        .null("exit_code")
        .integer("attempt", job->attempt.value());
    add_request(json, job->spec, Sight(job->spec.user, viewer));
  } else {
    json.integer("exit_code", kLostCode).text("class", "");
    for (const char* const unknown : {"user", "attempt", "gpu_count", "vram_bytes", "exclusive",
                                      "cpus", "mem_bytes", "retries", "time_limit_seconds"}) {
      json.null(unknown);
    }
  }
  json.close();
}

/// `note`: what was noted of its latest attempt. Of one that starts: that it could not so far; of
/// one that runs: that a GPU of its has failed, or that it could not be suspended.
Reasons::Text reason_of(const Job& job, Reasons& reasons, const std::string& note) {
  if (is_running(job.state)) return {note, note};
  const auto joined = [](const std::string& first, const std::string& second) {
    return first.empty() || second.empty() ? first + second : first + "; " + second;
  };
  if (const std::string by = suspended_text(job, note); !by.empty()) {
    const std::string brief = brief_suspended_text(job, note);
    if (job.state == JobState::Held) return {by, brief};
    const Reasons::Text& waits = reasons.of(job);
    return {joined(by, waits.full), joined(brief, waits.brief)};
  }
  if (job.state == JobState::Held && note.starts_with(live::kBecause)) {
    return {held_text(note), held_text(note)};
  }
  const Reasons::Text& reason = reasons.of(job);
  if (job.state == JobState::Deferred) {
    return {with_cause(reason.full, note), with_cause(reason.brief, note)};
  }
  if (job.state == JobState::Stopping && live::says_who_ended(note)) {
    return {joined(note, reason.full), joined(note, reason.brief)};
  }
  if (!is_waiting(job.state)) return reason;
  return {joined(reason.full, note), joined(reason.brief, note)};
}

/// Who cancelled it; nothing of another end.
void add_canceller(JsonObject& json, const journal::JobRow& row, UserNames& names) {
  const auto user = row.end ? live::cancelled_by(*row.end, row.spec.user) : std::nullopt;
  if (!user) return;
  json.integer("cancelled_by", user->value()).text("cancelled_by_name", names.of(user->value()));
}

/// A start may be noticed after the end, which is told when it was.
Instant started_at(const journal::JobRow& row) {
  return row.end && row.started != kNever ? std::min(row.started, row.end->at) : row.started;
}

}  // namespace

int exit_code(Outcome outcome, std::int32_t code) {
  switch (outcome) {
    case Outcome::Done:
      return 0;
    case Outcome::Failed:
      return code == 0 ? kLostCode : code;
    case Outcome::Oom:
      return kOomCode;
    case Outcome::Cancelled:
      return kCancelledCode;
    case Outcome::Timeout:
      return kTimeoutCode;
    case Outcome::Lost:
    case Outcome::Rejected:
      return kLostCode;
  }
  return kLostCode;
}

bool has_unknown_code(const JobSpec& spec, Outcome outcome) {
  return is_adopted(spec) && outcome == Outcome::Done;
}

std::string suspended_text(const Job& job, const std::string& note) {
  if (!has_idle_process(job)) return "";
  if (note.starts_with(live::kBecause)) return "suspended, " + note;
  if (note == live::kResumed && job.state == JobState::Suspended) return note;
  const std::string by = job.state == JobState::Held ? "its owner" : "the scheduler";
  return "suspended by " + by + (note.empty() ? "" : ", " + note);
}

std::string brief_suspended_text(const Job& job, const std::string& note) {
  const bool has_rule = note.starts_with(live::kBecause);
  if (note == live::kResumed) return suspended_text(job, note);
  return suspended_text(job, has_rule ? note.substr(0, note.find("; ")) : "");
}

std::string held_text(const std::string& note) {
  return note.starts_with(live::kBecause) ? "held " + note : "held by its owner";
}

JobState shown_state(const Job& job) {
  return has_idle_process(job) ? JobState::Suspended : job.state;
}

std::string_view state_word(const journal::JobRow& row, const Job* known) {
  if (known != nullptr) return word_for(shown_state(*known));
  return row.end ? user_word(row.end->outcome) : "lost";
}

namespace {

/// One kind of condition, in words.
struct Awaited {
  After when;
  bool of_one_in_array;
  std::string_view end;  ///< Of `waits for job 7 to end well`.

  bool has(const Dependency& on) const {
    return on.when == when && is_of_one_in_array(on) == of_one_in_array;
  }
};
constexpr std::array kAwaited = {Awaited{After::Ok, false, " to end well"},
                                 Awaited{After::Any, false, " to end"},
                                 Awaited{After::NotOk, false, " to end, and not well"},
                                 Awaited{After::NotOk, true, " to end, and not all well"}};

/// `jobs 7, 643_2 and 4 more`, `5 tasks of array 643`; "" for none.
std::string awaited_text(std::span<const Dependency> after, const Awaited& what,
                         const ClusterView& view) {
  std::string jobs;
  std::string arrays;
  std::size_t named = 0;
  std::size_t more = 0;
  for (std::size_t at = 0; at < after.size();) {
    const JobId id = after[at].job;
    const bool counts = what.has(after[at++]);
    if (!counts) continue;
    if (named == kMostNamed) {
      ++more;
      continue;
    }
    const Job* const job = view.find(id);
    const ArrayPlace place = job == nullptr ? ArrayPlace() : job->spec.conditions->array;
    const auto span = array_of(id, place);
    std::size_t tasks = 1;
    for (; span && at < after.size() && what.has(after[at]) && span->has(after[at].job); ++at) {
      ++tasks;
    }
    if (tasks > 1) {
      arrays += (arrays.empty() ? "" : ", ") + std::to_string(tasks) + " tasks of array " +
                std::to_string(span->first.value());
      continue;
    }
    ++named;
    jobs += (jobs.empty() ? "" : ", ") + handle_of(id, place);
  }
  if (!jobs.empty()) jobs = (named + more > 1 ? "jobs " : "job ") + jobs;
  if (more > 0) jobs += " and " + std::to_string(more) + " more";
  return jobs + (jobs.empty() || arrays.empty() ? "" : ", ") + arrays;
}

}  // namespace

std::string deferred_text(const Job& job, const ClusterView& view) {
  const Conditions& asked = *job.spec.conditions;
  std::string text;
  for (const Awaited& what : kAwaited) {
    const std::string list = awaited_text(asked.after, what, view);
    if (list.empty()) continue;
    text += (text.empty() ? "waits for " : "; for ") + list + std::string(what.end);
  }
  if (asked.begin > view.now()) {
    text += (text.empty() ? "waits until " : "; until ") + local_text(asked.begin);
  }
  if (!text.empty()) return text;
  return "waits for its turn: at most " + std::to_string(asked.array.at_once) + " of array " +
         std::to_string(asked.array.first.value()) + " at once";
}

std::string with_cause(const std::string& text, const std::string& note) {
  return note.starts_with(live::kBecause) ? text + ", " + note : text;
}

Reasons::Text Reasons::why_it_waits(JobId job, const std::optional<Refused>& decided) const {
  const Explanation found = explain(view_, job, decided);
  return {without_name(found.text), brief_text(found, view_.job(job), view_, foreign_)};
}

const Reasons::Text& Reasons::of(const Job& job) {
  if (job.state == JobState::Held) {
    const std::string handle = handle_of(job.id, job.spec.conditions->array);
    return own_ = {held_text(""), "held; to let it start: berth release " + handle};
  }
  if (job.state == JobState::Deferred) {
    const std::string text = deferred_text(job, view_);
    return own_ = {text, text};
  }
  if (job.state == JobState::Stopping) {
    return own_ = {"its memory is being given back", "gives its memory back"};
  }
  if (!is_waiting(job.state)) return own_ = {};
  const std::optional<Refused> decided = engine_.refused(job.id);
  if (std::ranges::find(view_.holds(), job.id, &Hold::job) != view_.holds().end()) {
    return own_ = why_it_waits(job.id, decided);
  }
  const Why why = decided ? decided->refusal.why : Why::Fits;
  const JobSpec& spec = job.spec;
  const auto asks_alike = [&](const Known& known) {
    return known.user == spec.user && known.request == spec.request &&
           known.estimate == spec.vram_estimate && known.decided == why;
  };
  const auto known = std::ranges::find_if(known_, asks_alike);
  if (known != known_.end()) return known->text;
  if (known_.size() == kMostReasons) known_.pop_back();
  return known_
      .emplace_front(spec.user, spec.request, spec.vram_estimate, why,
                     why_it_waits(job.id, decided))
      .text;
}

void append_row(std::string& out, const journal::JobRow& row, const RowTexts& texts,
                const Viewer& viewer) {
  auto& [reasons, names, keeper, now] = texts;
  const Job* const job = keeper.engine().view().find(row.job);
  if (row.is_damaged) return append_damaged(out, row.job, texts, viewer);
  const Sight sight(row.spec.user, viewer);
  const auto& end = row.end;
  const Reasons::Text reason = job != nullptr
                                   ? reason_of(*job, reasons, sight.note(keeper.note_of(row.job)))
                                   : Reasons::Text{};
  JsonObject json(out);
  json.integer("id", static_cast<std::int64_t>(row.job.value()))
      .text("name", sight.name(row.name, row.spec.conditions->array))
      .text("state", state_word(row, job))
      .text("reason", reason.full)
      .text("reason_brief", reason.brief)
      .integer("user", row.spec.user.value())
      .text("user_name", names.of(row.spec.user.value()))
      .text("command_line", sight.command(row.command))
      .raw("gpus", list_of(row.gpus))
      .seconds("submitted_at", row.submitted)
      .seconds("started_at", started_at(row))
      .seconds("ended_at", end ? end->at : kNever)
      .text("note", end ? sight.note(end->note) : "");
  const bool has_code = end && !has_unknown_code(row.spec, end->outcome);
  has_code ? json.integer("exit_code", exit_code(end->outcome, end->code)) : json.null("exit_code");
  job != nullptr ? json.integer("attempt", job->attempt.value()) : json.null("attempt");
  const JobSpec& spec = job != nullptr ? job->spec : row.spec;
  add_request(json, spec, sight);
  add_array_place(json, row.job, spec.conditions->array);
  add_parameters(json, row, sight);
  if (job != nullptr && live::surplus_of(*job) > Bytes(0)) {
    json.integer("surplus_bytes", live::surplus_of(*job).raw());
  }
  if (const auto run = latest_run(row, job, keeper.store(), now)) {
    json.seconds("run_started_at", run->started).seconds("run_seconds", run->ran);
  }
  if (job != nullptr && is_running(job->state) && job->spec.time_limit != kForever) {
    json.seconds("ends_by_at", time_limit_at(*job));
  }
  if (row.peak > Bytes(0)) json.integer("peak_bytes", row.peak.raw());
  add_canceller(json, row, names);
  if (row.millijoules) {
    std::string joules;
    append_millionths(joules, *row.millijoules * 1000);
    json.raw("energy_joules", joules);
  }
  json.close();
}

void append_brief_row(std::string& out, const journal::JobRow& row, const RowTexts& texts,
                      const Viewer& viewer) {
  auto& [reasons, names, keeper, now] = texts;
  const Job* const job = keeper.engine().view().find(row.job);
  if (row.is_damaged) return append_damaged(out, row.job, texts, viewer);
  const Sight sight(row.spec.user, viewer);
  const JobSpec& spec = job != nullptr ? job->spec : row.spec;
  const GpuRequest& gpu = spec.request.gpu;
  JsonObject json(out);
  json.integer("id", static_cast<std::int64_t>(row.job.value()));
  row.name.empty() ? json.text("command_line", sight.command(row.command))
                   : json.text("name", sight.name(row.name, row.spec.conditions->array));
  json.text("state", state_word(row, job))
      .integer("user", row.spec.user.value())
      .text("user_name", names.of(row.spec.user.value()))
      .integer("gpu_count", gpu.count.raw())
      .text("class", word_for(spec.duration_class))
      .seconds("submitted_at", row.submitted);
  if (gpu.vram > Bytes(0)) json.integer("vram_bytes", gpu.vram.raw());
  if (gpu.vram == Bytes(0) && spec.vram_estimate > Bytes(0)) {
    json.integer("vram_learned_bytes", spec.vram_estimate.raw());
  }
  if (gpu.sharing == Sharing::Alone) json.boolean("exclusive", true);
  if (job != nullptr) {
    const std::string note = sight.note(keeper.note_of(row.job));
    if (const auto reason = reason_of(*job, reasons, note); !reason.brief.empty()) {
      json.text("reason_brief", reason.brief);
    }
    if (live::surplus_of(*job) > Bytes(0)) {
      json.integer("surplus_bytes", live::surplus_of(*job).raw());
    }
    const bool ran_before = job->attempt > Attempt(1) || has_idle_process(*job);
    if (const auto run = ran_before ? latest_run(row, job, keeper.store(), now) : std::nullopt) {
      json.seconds("run_seconds", run->ran);
    }
  }
  if (row.end) {
    json.seconds("ended_at", row.end->at);
    if (!has_unknown_code(row.spec, row.end->outcome)) {
      json.integer("exit_code", exit_code(row.end->outcome, row.end->code));
    }
    if (!row.end->note.empty()) json.text("note", sight.note(row.end->note));
    if (row.end->outcome == Outcome::Timeout) json.seconds("time_limit_seconds", spec.time_limit);
  }
  add_canceller(json, row, names);
  if (row.started != kNever) json.seconds("started_at", started_at(row));
  if (!row.gpus.empty()) json.raw("gpus", list_of(row.gpus));
  if (row.peak > Bytes(0)) json.integer("peak_bytes", row.peak.raw());
  const ArrayPlace& place = spec.conditions->array;
  if (place.tasks > 0) add_array_place(json, row.job, place);
  json.close();
}

// ---- Arrays ----------------------------------------------------------------------------------

namespace {

/// From the state that an array is in if any of its jobs is, to that of all of them.
constexpr auto kByWeight = std::to_array<std::string_view>(
    {"running", "starting", "stopping", "suspended", "queued", "deferred", "held", "failed", "oom",
     "timeout", "lost", "cancelled", "done"});

bool waits_to_start(const Job& job) { return !holds_berth(job.state); }

/// Which of an array's jobs stands for it: the next to start, else the first that lives.
const Job* stands_for(const ClusterView& view, const ArraySpan& span) {
  const Job* best = nullptr;
  const auto weight = [](const Job& job) {
    return is_waiting(job.state) ? 0 : waits_to_start(job) ? 1 : 2;
  };
  for (auto id = view.job_from(span.first); id && span.has(*id);
       id = view.job_from(JobId(id->value() + 1))) {
    const Job& job = *view.find(*id);
    if (best == nullptr || weight(job) < weight(*best)) best = &job;
  }
  return best;
}

void add_live_tasks(ArrayRow& array, const ClusterView& view) {
  for (auto id = view.job_from(array.span.first); id && array.span.has(*id);
       id = view.job_from(JobId(id->value() + 1))) {
    const Job& job = *view.find(*id);
    ++array.tasks[word_for(shown_state(job))];
    array.started = std::min(array.started, job.first_start);
    for (const Share& share : job.grant.shares) array.gpus.push_back(share.gpu);
  }
  std::ranges::sort(array.gpus);
  array.gpus.erase(std::ranges::unique(array.gpus).begin(), array.gpus.end());
}

/// Returns: when the last one ended.
Expected<Instant> add_ended_tasks(ArrayRow& array, const journal::Store& store) {
  const auto ends = store.ends_of(array.span.first, array.span.last);
  if (!ends) return std::unexpected(ends.error());
  Instant last = kStart;
  for (const journal::EndTally& end : *ends) {
    array.tasks[user_word(end.outcome)] += end.jobs;
    array.started = std::min(array.started, end.first_start);
    last = std::max(last, end.last_end);
  }
  return last;
}

/// Of an array whose jobs have ended all: its code, and the end of the job that has it.
Expected<void> add_code(ArrayRow& array, const journal::Store& store) {
  const auto failures = store.failures_of(array.span.first, array.span.last, 1);
  if (!failures) return std::unexpected(failures.error());
  array.exit_code = failures->empty() ? 0 : kLostCode;
  if (failures->empty()) return {};
  auto row = store.job(failures->front());
  if (!row) return std::unexpected(row.error());
  if (!*row || !(*row)->end) return {};
  array.exit_code = exit_code((*row)->end->outcome, (*row)->end->code);
  array.row = std::move(**row);
  return {};
}

/// What a task of an array says beside its state: why it is held, what suspended it, what is noted
/// of it while it runs. "" for one that waits for its turn.
std::string told_of_task(const Job& job, const std::string& note) {
  if (has_idle_process(job)) return brief_suspended_text(job, note);
  const std::string brief = note.substr(0, note.find("; "));
  if (job.state == JobState::Held) return held_text(brief);
  const bool is_told = is_running(job.state) || live::says_who_ended(note);
  return is_told ? brief : "";
}

/// `2 tasks: held because bob (uid 1001) asked for that`: what most of those say that say anything;
/// they count as alike from whatever instant it is.
std::string told_of_tasks(const ArraySpan& span, const live::Keeper& keeper, const Sight& sight) {
  struct Told {
    std::int64_t tasks = 0;
    std::string text;  ///< Of the first.
  };
  std::map<std::string, Told> told;
  const ClusterView view = keeper.engine().view();
  for (auto id = view.job_from(span.first); id && span.has(*id);
       id = view.job_from(JobId(id->value() + 1))) {
    std::string text = told_of_task(*view.find(*id), sight.note(keeper.note_of(*id)));
    if (text.empty()) continue;
    Told& alike = told[text.substr(0, text.find(" since "))];
    if (alike.tasks++ == 0) alike.text = std::move(text);
  }
  const auto most =
      std::ranges::max_element(told, {}, [](const auto& one) { return one.second.tasks; });
  if (most == told.end()) return "";
  const auto& [tasks, text] = most->second;
  return std::to_string(tasks) + (tasks == 1 ? " task: " : " tasks: ") + text;
}

}  // namespace

Expected<ArrayRow> array_row(const live::Keeper& keeper, const ArraySpan& span) {
  const journal::Store& store = keeper.store();
  const ClusterView view = keeper.engine().view();
  ArrayRow array{.span = span};
  add_live_tasks(array, view);
  const bool lives = !array.tasks.empty();
  const auto last = add_ended_tasks(array, store);
  if (!last) return std::unexpected(last.error());
  JobId shown = span.first;
  if (const Job* const job = stands_for(view, span)) {
    shown = job->id;
  } else if (const auto kept = store.jobs_after(JobId(span.first.value() - 1), 1); kept) {
    if (!kept->empty()) shown = kept->front();
  }
  auto row = store.job(shown);
  if (!row) return std::unexpected(row.error());
  if (!*row || !span.has(shown)) {
    return fail(ErrorCode::NotFound,
                "array " + std::to_string(span.first.value()) + ": no such job");
  }
  array.row = std::move(**row);
  const auto* const state = std::ranges::find_if(
      kByWeight, [&](std::string_view word) { return array.tasks.contains(word); });
  array.state = state == kByWeight.end() ? word_for(Outcome::Lost) : *state;
  if (lives) return array;
  array.ended = *last;
  if (auto done = add_code(array, store); !done) return std::unexpected(done.error());
  return array;
}

void append_array(std::string& out, const ArrayRow& array, const RowTexts& texts,
                  const Viewer& viewer) {
  auto& [reasons, names, keeper, now] = texts;
  const Job* const job = keeper.engine().view().find(array.row.job);
  const JobSpec& spec = job != nullptr ? job->spec : array.row.spec;
  const bool waits = job != nullptr && waits_to_start(*job);
  const auto& end = array.row.end;
  const bool was_cancelled = array.exit_code && end && end->outcome == Outcome::Cancelled;
  const Sight sight(spec.user, viewer);
  const Reasons::Text reason =
      waits ? reason_of(*job, reasons, sight.note(keeper.note_of(job->id))) : Reasons::Text{};
  const auto first = static_cast<std::int64_t>(array.span.first.value());
  std::string tasks;
  JsonObject counts(tasks);
  for (const auto& [state, jobs] : array.tasks) counts.integer(state, jobs);
  counts.close();
  JsonObject json(out);
  json.integer("id", first)
      .text("name", array_name(array.row.name, spec.conditions->array))
      .text("state", array.state)
      .text("reason", reason.full)
      .text("reason_brief", reason.brief)
      .integer("user", spec.user.value())
      .text("user_name", names.of(spec.user.value()))
      .text("command_line", sight.command(array.row.command))
      .raw("gpus", list_of(array.gpus))
      .seconds("submitted_at", array.row.submitted)
      .seconds("started_at", array.started)
      .seconds("ended_at", array.ended)
      .text("note", was_cancelled ? sight.note(end->note) : "");
  array.exit_code ? json.integer("exit_code", *array.exit_code) : json.null("exit_code");
  json.null("attempt");
  add_request(json, spec, sight);
  json.integer("array", first)
      .integer("array_tasks", static_cast<std::int64_t>(array.span.last.value()) - first + 1)
      .raw("tasks", tasks);
  if (const std::string told = told_of_tasks(array.span, keeper, sight); !told.empty()) {
    json.text("tasks_note", told);
  }
  if (was_cancelled) add_canceller(json, array.row, names);
  json.close();
}

std::string without_name(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace berth::daemon
