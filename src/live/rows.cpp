#include "live/rows.hpp"

#include <algorithm>
#include <csignal>

#include "core/text/handle.hpp"
#include "core/text/text.hpp"
#include "live/command.hpp"

namespace berth::live {

namespace {

/// Its process lives, and its GPU memory has been freed.
bool is_being_suspended(const Job& job) {
  const bool goes_on = job.after_stop == JobState::Suspended || job.after_stop == JobState::Held;
  return job.state == JobState::Stopping && !job.ending && !job.ended && goes_on;
}

}  // namespace

std::string known_handle(JobId id, const ClusterView& view, const journal::Store& store) {
  if (const Job* const job = view.find(id)) return handle_of(id, job->spec.conditions->array);
  const auto row = store.job(id);
  const bool is_known = row && *row && !(*row)->is_damaged;
  return is_known ? handle_of(id, (*row)->spec.conditions->array) : std::to_string(id.value());
}

std::string culprit_text(const Overrun& by, const std::string& handle, Host& host) {
  const std::string where = " on GPU " + std::to_string(by.gpu.value());
  if (by.job == JobId(0)) {
    const std::string who = host.strangers_on(by.gpu);
    return "processes that berth did not start held " + to_text(by.held) + where +
           (who.empty() ? "" : ": " + who);
  }
  return "job " + handle + " of " + host.name_of(by.user) + " held " + to_text(by.held) + where +
         (by.granted == Bytes(0) ? ", which it was not given"
                                 : ", was granted " + to_text(by.granted));
}

/// A job that berthd ends has its outcome before its process is gone, whatever that returns then.
Outcome Rows::outcome_of(const AttemptEnded& ended) const {
  const Job* const job = view_.find(ended.job);
  const bool is_being_ended = job != nullptr && job->attempt == ended.attempt && job->ending &&
                              !job->ended && job->state == JobState::Stopping;
  if (!is_being_ended) return ended.outcome;
  if (job->outcome == Outcome::Cancelled) return Outcome::Cancelled;
  const bool is_late =
      job->outcome == Outcome::Timeout && ended.at >= later(job->since, limit_left(*job));
  return is_late ? Outcome::Timeout : ended.outcome;
}

Expected<void> Rows::write(Instant now, const std::vector<Input>& inputs) {
  const auto end = [&](const AttemptEnded& ended) {
    return store_.end_attempt(ended.job, ended.attempt,
                              {.at = std::min(ended.at, now),
                               .outcome = outcome_of(ended),
                               .code = ended.code,
                               .note = notes_.at_end(ended.job, outcome_of(ended))});
  };
  for (const Input& input : inputs) {
    Expected<void> done;
    if (const auto* ended = std::get_if<AttemptEnded>(&input)) {
      if (auto written = write_peak(*ended); !written) return written;
    }
    if (const auto* started = std::get_if<Started>(&input)) {
      done = store_.set_started(started->job, started->attempt, now);
    } else if (const auto* exited = std::get_if<Exited>(&input)) {
      done = end({.job = exited->job,
                  .attempt = exited->attempt,
                  .outcome = exited->outcome,
                  .code = exited->code,
                  .at = now});
    } else if (const auto* ended = std::get_if<AttemptEnded>(&input)) {
      done = end(*ended);
    } else if (const auto* reported = std::get_if<Reported>(&input)) {
      done = store_.set_report(reported->job, {reported->key, reported->value, now});
    } else if (const auto* updated = std::get_if<Updated>(&input)) {
      done = write_row(*updated);
    } else if (const auto* released = std::get_if<Released>(&input)) {
      done = write_row(*released, now);
    }
    if (!done) return done;
  }
  return {};
}

/// None is written of a job that held nothing, or whose GPUs could not be looked at.
Expected<void> Rows::write_peak(const AttemptEnded& ended) {
  const auto peak = findings_.peaks.find(ended.job);
  const Job* const job = view_.find(ended.job);
  if (peak == findings_.peaks.end() || peak->second == Bytes(0) || job == nullptr) return {};
  const bool was_stopped = job->state == JobState::Stopping;
  const bool is_whole = ended.outcome == Outcome::Done ||
                        (was_stopped && job->outcome == Outcome::Timeout && job->ending);
  return set_peak({.job = ended.job,
                   .attempt = ended.attempt,
                   .user = job->spec.user,
                   .what = memory_program_of(*job, store_),
                   .bytes = peak->second,
                   .is_whole = is_whole});
}

Expected<void> Rows::set_peak(const journal::PeakRow& row) {
  if (row.is_whole && row.what != Fingerprint(0)) findings_.memory.note(row.user, row.what);
  return store_.set_peak(row);
}

Expected<void> Rows::write_row(const Updated& updated) {
  const auto row = store_.job(updated.job);
  if (!row) return std::unexpected(row.error());
  if (!*row || (*row)->is_damaged) return {};
  JobSpec spec = (*row)->spec;
  spec.request = updated.spec.request;
  spec.vram_estimate = updated.spec.vram_estimate;
  spec.time_limit = updated.spec.time_limit;
  spec.priority = updated.spec.priority;
  spec.command = updated.spec.command;
  const std::string& comment = updated.spec.conditions->comment;
  if (spec.conditions->comment != comment) spec.conditions.edit().comment = comment;
  const std::int32_t at_once = updated.spec.conditions->array.at_once;
  if (spec.conditions->array.at_once != at_once) spec.conditions.edit().array.at_once = at_once;
  const Instant begin = updated.spec.conditions->begin;
  if (spec.conditions->begin != begin) spec.conditions.edit().begin = begin;
  return store_.change_job(updated.job, spec, updated.name.value_or((*row)->name));
}

/// Its command in which the client need not be there at the start.
Expected<void> Rows::let_go(JobId id, std::vector<Input>& inputs) {
  const Job* const job = view_.find(id);
  if (job == nullptr) return {};
  const auto bytes = store_.blob(job->spec.command);
  auto command = bytes ? decode_command(*bytes) : std::unexpected(bytes.error());
  if (!command) return std::unexpected(command.error());
  if (!command->attach || command->attach->optional) return {};
  command->attach->optional = true;
  const auto blob = store_.add_blob(encode(*command));
  if (!blob) return std::unexpected(blob.error());
  Updated updated{.job = id, .spec = job->spec};
  updated.spec.command = *blob;
  inputs.emplace_back(updated);
  return write_row(updated);
}

Expected<void> Rows::write(Instant now, const Effects& effects) {
  const Stop* stop = nullptr;  // that of a job that ends without GPUs is right before its end
  for (const Effect& effect : effects.list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (stop != nullptr && finished != nullptr && finished->job == stop->job) {
      if (auto ended = write_idle_end(*stop, *finished); !ended) return ended;
    }
    stop = std::get_if<Stop>(&effect);
    auto done = std::visit([&](const auto& what) { return write_row(what, now); }, effect);
    if (!done) return done;
  }
  return {};
}

Expected<void> Rows::write_row(const Launch& launch, Instant now) {
  return add_attempt({.job = launch.job,
                      .attempt = launch.attempt,
                      .granted = now,
                      .gpus = gpus_of(launch.grant)});
}

Expected<void> Rows::write_row(const Continue& resumed, Instant now) {
  return add_attempt({.job = resumed.job,
                      .attempt = resumed.attempt,
                      .granted = now,
                      .gpus = gpus_of(resumed.grant)});
}

Expected<std::optional<journal::AttemptRow>> Rows::row_of(JobId job, Attempt attempt) const {
  const auto attempts = store_.attempts(job);
  if (!attempts) return std::unexpected(attempts.error());
  const auto row = std::ranges::find(*attempts, attempt, &journal::AttemptRow::attempt);
  return row == attempts->end() ? std::nullopt : std::optional(*row);
}

/// After a move to other GPUs a job's attempts are counted from 1 again: a row that is there stays.
Expected<void> Rows::add_attempt(const journal::AttemptRow& attempt) {
  const auto before = row_of(attempt.job, attempt.attempt);
  if (!before) return std::unexpected(before.error());
  return *before ? Expected<void>() : store_.add_attempt(attempt);
}

/// Nobody hears of the end of a process whose job has ended: it ends with its job. What it ran
/// ended when it was suspended.
Expected<void> Rows::write_idle_end(const Stop& stop, const Finished& finished) {
  const auto row = row_of(stop.job, stop.attempt);
  if (!row) return std::unexpected(row.error());
  return store_.end_attempt(stop.job, stop.attempt,
                            {.at = *row && (*row)->end ? (*row)->end->at : finished.at,
                             .outcome = finished.outcome,
                             .code = 128 + SIGKILL,
                             .note = notes_.at_end(stop.job, finished.outcome)});
}

Expected<void> Rows::write_row(const Finished& finished, Instant) {
  const std::string note = notes_.at_end(finished.job, finished.outcome);
  notes_.forget(finished.job);
  findings_.peaks.erase(finished.job);
  const std::string why = finished.note.empty() ? note : finished.note;
  return store_.end_job(
      finished.job,
      {.at = finished.at, .outcome = finished.outcome, .code = finished.code, .note = why});
}

/// Instead of what its attempt's row says, which reads as if it were the job's own fault.
Expected<void> Rows::write_row(const Hurt& hurt, Instant) {
  const Job* const job = view_.find(hurt.job);  // none if that was its end
  const Bytes asked = job == nullptr ? Bytes(0) : job->spec.request.gpu.vram;
  const std::string within =
      asked == Bytes(0) ? "what it was granted" : "the " + to_text(asked) + " it asked for";
  std::string text = "ran out of GPU memory within " + within + ": " +
                     culprit_text(hurt.by, known_handle(hurt.by.job, view_, store_), host_);
  if (hurt.runs_again) text += "; it runs again, from its old place in the queue";
  notes_.set(hurt.job, text);
  return write_end_note(hurt.job, hurt.attempt);
}

/// After what its attempt's row says: the exit code alone would not say why it runs again.
Expected<void> Rows::write_row(const Spoiled& spoiled, Instant) {
  const std::string before = notes_.of(spoiled.job);
  const auto after = std::chrono::ceil<std::chrono::seconds>(spoiled.after);
  notes_.set(spoiled.job,
             before + (before.empty() ? "" : "; ") + "failed within " +
                 seconds_text(Duration(after)) +
                 " s after it was resumed: it begins again, and jobs of its program are not "
                 "suspended any more, except with --suspend yes");
  return write_end_note(spoiled.job, spoiled.attempt);
}

/// The note of an attempt whose end is written already and whose cause was found out since.
Expected<void> Rows::write_end_note(JobId job, Attempt attempt) {
  const auto row = row_of(job, attempt);
  if (!row) return std::unexpected(row.error());
  if (!*row || !(*row)->end) return {};
  journal::End end = *(*row)->end;
  end.note = notes_.of(job);
  return store_.end_attempt(job, attempt, end);
}

Expected<void> Rows::write_left(const Released& released, const Findings::Left& left) {
  if (left.millijoules) {
    auto done = store_.set_energy({released.job, released.attempt, *left.millijoules});
    if (!done) return done;
  }
  if (left.peak == Bytes(0)) return {};
  const auto peaks = store_.peaks(released.job);
  const auto row = row_of(released.job, released.attempt);
  if (!peaks) return std::unexpected(peaks.error());
  if (!row) return std::unexpected(row.error());
  const auto known = std::ranges::find(*peaks, released.attempt, &journal::PeakRow::attempt);
  if (known != peaks->end()) {
    journal::PeakRow higher = *known;
    higher.bytes = std::max(higher.bytes, left.peak);
    return set_peak(higher);
  }
  const Job* const job = view_.find(released.job);
  if (!*row || !(*row)->end || job == nullptr) return {};
  return set_peak({.job = released.job,
                   .attempt = released.attempt,
                   .user = job->spec.user,
                   .what = memory_program_of(*job, store_),
                   .bytes = left.peak,
                   .is_whole = (*row)->end->outcome == Outcome::Done});
}

/// What it ran does not count the time until it goes on, which is as another attempt.
Expected<void> Rows::write_suspension(const Job& job, Instant now) {
  const auto row = row_of(job.id, job.attempt);
  if (!row) return std::unexpected(row.error());
  if (!*row || (*row)->end) return {};
  return store_.end_attempt(
      job.id, job.attempt,
      {.at = now, .outcome = Outcome::Cancelled, .note = std::string(kSuspended)});
}

/// A job that failed and outlives its GPUs was waiting for a look at them.
Expected<void> Rows::write_row(const Released& released, Instant now) {
  const Job* const job = view_.find(released.job);
  if (const auto left = findings_.left.find(released.job); left != findings_.left.end()) {
    if (auto written = write_left(released, left->second); !written) return written;
  }
  if (job != nullptr && job->attempt == released.attempt && is_being_suspended(*job)) {
    return write_suspension(*job, now);
  }
  const bool was_judged_late = job != nullptr && job->attempt == released.attempt && job->ended &&
                               job->outcome == Outcome::Failed && !job->ending;
  if (!was_judged_late) return {};
  return write_end_note(released.job, released.attempt);
}

}  // namespace berth::live
