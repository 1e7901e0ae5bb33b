// What a transaction of the journal may hold, one function each.
#include "engine/engine.hpp"
#include "journal/state.hpp"

namespace berth::journal {

namespace {

Expected<void> only_errors(const Expected<std::int64_t>& changed) {
  if (!changed) return std::unexpected(changed.error());
  return {};
}

/// The columns ended, outcome, code, note.
struct EndColumns {
  explicit EndColumns(const End& end)
      : at(column(end.at)),
        outcome(static_cast<std::int64_t>(end.outcome)),
        code(end.code),
        note(end.note) {}
  /// Of one that may not have come yet.
  static EndColumns of(const std::optional<End>& end) {
    return end ? EndColumns(*end) : EndColumns();
  }
  EndColumns() = default;

  std::optional<std::int64_t> at;
  std::optional<std::int64_t> outcome;
  std::optional<std::int64_t> code;
  std::optional<std::string_view> note;
};

/// Of two snapshots after the same entry, one that changed something means that the latter did.
Expected<Continuity> continuity_of(const Connection& db, const Snapshot& snapshot) {
  Query before(db, "SELECT continues FROM snapshots WHERE after = ?", snapshot.after);
  const bool changed = before.next() && before.integer(0) == 0;
  if (auto done = before.finish(); !done) return std::unexpected(done.error());
  return changed ? Continuity::Changed : snapshot.continuity;
}

}  // namespace

// ---- The journal proper
// --------------------------------------------------------------------------

Expected<void> Store::add_inputs(std::int64_t number, Instant now, std::string_view inputs) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (number != state.last_entry + 1) {
    return state.keep({ErrorCode::InvalidArgument, state.db.path() + ": entry " +
                                                       std::to_string(number) + ": the next is " +
                                                       std::to_string(state.last_entry + 1)});
  }
  const auto added =
      state.write("INSERT INTO entries (number, now, inputs, inputs_sum) VALUES (?, ?, ?, ?)",
                  number, column(now), Blob{inputs}, sum_of_inputs(number, now, inputs));
  if (added) state.last_entry = number;
  return only_errors(added);
}

Expected<void> Store::add_decisions(std::int64_t number, std::string_view decisions) {
  State& state = *state_;
  const auto changed = state.write(
      "UPDATE entries SET decisions = ?, decisions_sum = ? WHERE number = ? AND decisions IS NULL",
      Blob{decisions}, sum_of_decisions(number, decisions), number);
  if (!changed || *changed == 1) return only_errors(changed);
  return state.keep({ErrorCode::Conflict, state.db.path() + ": entry " + std::to_string(number) +
                                              ": not there, or decided already"});
}

Expected<void> Store::add_part(std::int64_t after, std::int64_t part, std::string_view bytes) {
  return only_errors(state_->write(
      "INSERT OR REPLACE INTO snapshot_parts (after, part, sum, bytes) VALUES (?, ?, ?, ?)", after,
      part, sum_of_part(after, part, bytes), Blob{bytes}));
}

Expected<void> Store::add_snapshot_of_parts(const Snapshot& snapshot, std::int64_t parts) {
  const auto continuity = continuity_of(state_->db, snapshot);
  if (!continuity) return state_->keep(continuity.error());
  return only_errors(state_->write(
      "INSERT OR REPLACE INTO snapshots (after, policy, place, build, continues, state, sum, parts)"
      " VALUES (?, ?, ?, ?, ?, x'', ?, ?)",
      snapshot.after, std::string_view(snapshot.policy), std::string_view(snapshot.place),
      std::string_view(snapshot.build), column(*continuity), sum_of(snapshot, *continuity, parts),
      parts));
}

/// First the snapshot that is needed no more: from then on nobody looks for the rest.
Expected<bool> Store::drop_some() {
  for (const char* const what :
       {"DELETE FROM snapshots"
        " WHERE after < (SELECT after FROM snapshots ORDER BY after DESC LIMIT 1 OFFSET 1)",
        "DELETE FROM snapshot_parts WHERE rowid IN (SELECT rowid FROM snapshot_parts"
        " WHERE after NOT IN (SELECT after FROM snapshots WHERE parts > 0) LIMIT 8)",
        "DELETE FROM entries WHERE number <= (SELECT min(after) FROM snapshots)"
        " AND number < (SELECT min(number) FROM entries) + 200"}) {
    const auto dropped = state_->write(what);
    if (!dropped) return std::unexpected(dropped.error());
    if (*dropped > 0) return true;
  }
  return false;
}

Expected<void> Store::add_snapshot(const Snapshot& snapshot) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (snapshot.after != state.last_entry) {
    return state.keep({ErrorCode::InvalidArgument, state.db.path() + ": snapshot after entry " +
                                                       std::to_string(snapshot.after) +
                                                       ": the last entry is " +
                                                       std::to_string(state.last_entry)});
  }
  const auto continuity = continuity_of(state.db, snapshot);
  if (!continuity) return state.keep(continuity.error());
  const auto added = state.write(
      "INSERT OR REPLACE INTO snapshots (after, policy, place, build, continues, state, sum)"
      " VALUES (?, ?, ?, ?, ?, ?, ?)",
      snapshot.after, std::string_view(snapshot.policy), std::string_view(snapshot.place),
      std::string_view(snapshot.build), column(*continuity), Blob{snapshot.state},
      sum_of(snapshot, *continuity));
  if (!added) return only_errors(added);
  const auto pruned = state.write(
      "DELETE FROM snapshots"
      " WHERE after < (SELECT after FROM snapshots ORDER BY after DESC LIMIT 1 OFFSET 1)");
  if (!pruned) return only_errors(pruned);
  return only_errors(
      state.write("DELETE FROM entries WHERE number <= (SELECT min(after) FROM snapshots)"));
}

// ---- Jobs
// ----------------------------------------------------------------------------------------

Expected<BlobId> Store::add_blob(std::string_view bytes) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return std::unexpected(may.error());
  const std::int64_t sum = Checksum().add(bytes).value();
  if (const auto known = state.recent.find(sum)) {
    Query stored(state.db, "SELECT bytes FROM blobs WHERE id = ?", column(*known));
    if (stored.next() && stored.blob(0) == bytes) return *known;
    if (auto done = stored.finish(); !done) return state.keep(done.error());
  }
  const auto added = state.write("INSERT INTO blobs (sum, bytes) VALUES (?, ?)", sum, Blob{bytes});
  if (!added) return std::unexpected(added.error());
  const BlobId id = blob_of(sqlite3_last_insert_rowid(state.db.raw()));
  state.recent.add(sum, id);
  return id;
}

Expected<void> Store::add_job(const JobRow& row) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (row.job < JobId(1) || row.job > kLastJob) {
    return state.keep({ErrorCode::InvalidArgument, "job " + std::to_string(row.job.value()) +
                                                       ": numbers go from 1 to " +
                                                       std::to_string(kLastJob.value())});
  }
  const std::string spec = encoded(row.spec);
  const EndColumns end = EndColumns::of(row.end);
  return only_errors(state.write(
      "INSERT INTO jobs (id, user, submitted, name, command, spec, spec_sum, started, gpus, ended,"
      " outcome, code, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      column(row.job), std::int64_t{row.spec.user.value()}, column(row.submitted),
      std::string_view(row.name), std::string_view(row.command), Blob{spec},
      sum_of_spec(row.job, spec), column_or_null(row.started), Blob{encoded(row.gpus)}, end.at,
      end.outcome, end.code, end.note));
}

Expected<void> Store::set_spec(JobId job, const JobSpec& spec) {
  const std::string bytes = encoded(spec);
  return state_->write_one(job, "UPDATE jobs SET user = ?, spec = ?, spec_sum = ? WHERE id = ?",
                           std::int64_t{spec.user.value()}, Blob{bytes}, sum_of_spec(job, bytes),
                           column(job));
}

Expected<void> Store::add_attempt(const AttemptRow& row) {
  const std::string gpus = encoded(row.gpus);
  if (auto done = state_->write_one(row.job, "UPDATE jobs SET gpus = ? WHERE id = ?", Blob{gpus},
                                    column(row.job));
      !done) {
    return done;
  }
  const EndColumns end = EndColumns::of(row.end);
  return only_errors(state_->write(
      "INSERT OR REPLACE INTO attempts (job, attempt, granted, started, gpus, ended, outcome, "
      "code, note)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      column(row.job), std::int64_t{row.attempt.value()}, column(row.granted),
      column_or_null(row.started), Blob{gpus}, end.at, end.outcome, end.code, end.note));
}

Expected<void> Store::set_started(JobId job, Attempt attempt, Instant at) {
  if (auto done =
          state_->write_one(job, "UPDATE attempts SET started = ? WHERE job = ? AND attempt = ?",
                            column_or_null(at), column(job), std::int64_t{attempt.value()});
      !done) {
    return done;
  }
  return only_errors(state_->write("UPDATE jobs SET started = ? WHERE id = ? AND started IS NULL",
                                   column_or_null(at), column(job)));
}

Expected<void> Store::end_attempt(JobId job, Attempt attempt, const End& end) {
  const EndColumns columns(end);
  return state_->write_one(job,
                           "UPDATE attempts SET ended = ?, outcome = ?, code = ?, note = ?"
                           " WHERE job = ? AND attempt = ?",
                           columns.at, columns.outcome, columns.code, columns.note, column(job),
                           std::int64_t{attempt.value()});
}

Expected<void> Store::end_job(JobId job, const End& end) {
  const EndColumns columns(end);
  return state_->write_one(
      job, "UPDATE jobs SET ended = ?, outcome = ?, code = ?, note = ? WHERE id = ?", columns.at,
      columns.outcome, columns.code, columns.note, column(job));
}

Expected<void> Store::set_report(JobId job, const ReportRow& row) {
  return state_->write_one(
      job,
      "INSERT INTO reports (job, key, value, at)"
      " SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?1)"
      " ON CONFLICT (job, key) DO UPDATE SET value = excluded.value, at = excluded.at",
      column(job), std::string_view(row.key), row.value, column(row.at));
}

}  // namespace berth::journal
