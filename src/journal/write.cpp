// What a transaction of the journal may hold, one function each.
#include <algorithm>
#include <utility>

#include "engine/engine.hpp"
#include "journal/row_sum.hpp"
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

/// SQLite reads the list of free pages for each of them, which takes a millisecond where a gigabyte
/// is free: so many at a time.
constexpr std::int64_t kCutPages = 16;

/// Pages that hold nothing and need not stay; 0 where none can be cut off.
Expected<std::int64_t> excess_pages(const Store& store, const Connection& db) {
  const auto can = store.can_be_cut();
  if (!can) return std::unexpected(can.error());
  if (!*can) return 0;
  const auto all = number_of(db, "PRAGMA page_count");
  const auto unused = number_of(db, "PRAGMA freelist_count");
  const auto size = number_of(db, "PRAGMA page_size");
  for (const auto* found : {&all, &unused, &size}) {
    if (!*found) return std::unexpected(found->error());
  }
  const std::int64_t spare = std::max(*all / 4, kSpare.raw() / std::max<std::int64_t>(*size, 1));
  return std::max<std::int64_t>(*unused - spare, 0);
}

}  // namespace

// ---- The journal proper
// --------------------------------------------------------------------------

Expected<void> Store::add_inputs(std::int64_t number, Instant now, std::string_view inputs) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (number != state.reach.entry + 1) {
    return state.keep({ErrorCode::InvalidArgument, state.db.path() + ": entry " +
                                                       std::to_string(number) + ": the next is " +
                                                       std::to_string(state.reach.entry + 1)});
  }
  const auto added =
      state.write("INSERT INTO entries (number, now, inputs, inputs_sum) VALUES (?, ?, ?, ?)",
                  number, column(now), Blob{inputs}, sum_of_inputs(number, now, inputs));
  if (added) state.reach = {.entry = number, .decided = false};
  return only_errors(added);
}

Expected<void> Store::add_decisions(std::int64_t number, std::string_view decisions) {
  State& state = *state_;
  const auto changed = state.write(
      "UPDATE entries SET decisions = ?, decisions_sum = ? WHERE number = ? AND decisions IS NULL",
      Blob{decisions}, sum_of_decisions(number, decisions), number);
  if (changed && number == state.reach.entry) state.reach.decided = true;
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

/// First the old snapshot's main row: from then on no reader looks for the rest. Of entries 200, or
/// fewer of half a megabyte: what is deleted is written, page by page.
Expected<bool> Store::drop_some() {
  for (const char* const what :
       {"DELETE FROM snapshots"
        " WHERE after < (SELECT after FROM snapshots ORDER BY after DESC LIMIT 1 OFFSET 1)",
        "DELETE FROM snapshot_parts WHERE rowid IN (SELECT rowid FROM snapshot_parts"
        " WHERE after NOT IN (SELECT after FROM snapshots WHERE parts > 0) LIMIT 2)",
        "DELETE FROM entries WHERE number <= (SELECT min(after) FROM snapshots)"
        " AND number <= (SELECT max(number) FROM"
        "  (SELECT number, sum(size) OVER (ORDER BY number) - size AS before FROM"
        "   (SELECT number, length(inputs) AS size FROM entries ORDER BY number LIMIT 200))"
        "  WHERE before < 524288)"}) {
    const auto dropped = state_->write(what);
    if (!dropped) return std::unexpected(dropped.error());
    if (*dropped > 0) return true;
  }
  return false;
}

Expected<bool> Store::cut_some() {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return std::unexpected(may.error());
  const auto excess = excess_pages(*this, state.db);
  if (!excess) return state.keep(excess.error());
  if (*excess > 0) {
    static const std::string sql = "PRAGMA incremental_vacuum(" + std::to_string(kCutPages) + ")";
    if (auto done = state.db.run(sql.c_str()); !done) return state.keep(done.error());
    state.is_cutting = true;
  }
  const bool is_more = *excess > kCutPages;
  if (!is_more && std::exchange(state.is_cutting, false)) state.has_cut = true;
  return is_more;
}

Expected<void> Store::add_snapshot(const Snapshot& snapshot) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (snapshot.after != state.reach.entry) {
    return state.keep({ErrorCode::InvalidArgument, state.db.path() + ": snapshot after entry " +
                                                       std::to_string(snapshot.after) +
                                                       ": the last entry is " +
                                                       std::to_string(state.reach.entry)});
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

Expected<void> Store::add_arriving(JobId first, std::int64_t tasks) {
  return only_errors(state_->write("INSERT OR REPLACE INTO arriving (first, tasks) VALUES (?, ?)",
                                   column(first), tasks));
}

Expected<void> Store::drop_arriving(JobId first) {
  return only_errors(state_->write("DELETE FROM arriving WHERE first = ?", column(first)));
}

Expected<void> Store::set_note(JobId job, std::string_view text) {
  if (text.empty()) {
    return only_errors(state_->write("DELETE FROM notes WHERE job = ?", column(job)));
  }
  return only_errors(
      state_->write("INSERT OR REPLACE INTO notes (job, text) VALUES (?, ?)", column(job), text));
}

std::optional<BlobId> Store::find_blob(std::string_view bytes) const {
  State& state = *state_;
  const auto known = state.recent.find(Checksum().add(bytes).value());
  if (!known) return std::nullopt;
  Query stored(state.db, "SELECT bytes FROM blobs WHERE id = ?", column(*known));
  const bool is_same = stored.next() && stored.blob(0) == bytes;
  return is_same ? known : std::nullopt;
}

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

void Store::forget_recent_blobs() { state_->recent = RecentBlobs(); }

Expected<void> Store::drop_blob(BlobId id) {
  return only_errors(state_->write("DELETE FROM blobs WHERE id = ?", column(id)));
}

Expected<void> Store::drop_job(JobId job) {
  const auto dropped =
      state_->write("DELETE FROM jobs WHERE id = ? AND ended IS NOT NULL", column(job));
  if (!dropped || *dropped == 0) return only_errors(dropped);
  for (const char* const what :
       {"DELETE FROM attempts WHERE job = ?", "DELETE FROM reports WHERE job = ?",
        "DELETE FROM peaks WHERE job = ?", "DELETE FROM energies WHERE job = ?"}) {
    if (auto done = state_->write(what, column(job)); !done) return only_errors(done);
  }
  return {};
}

Expected<void> Store::add_job(const JobRow& row) {
  State& state = *state_;
  if (auto may = state.may_write(); !may) return may;
  if (row.job < JobId(1) || row.job > kLastJob) {
    return state.keep({ErrorCode::InvalidArgument, "job " + std::to_string(row.job.value()) +
                                                       ": numbers go from 1 to " +
                                                       std::to_string(kLastJob.value())});
  }
  static const std::string sql =
      std::string(
          "INSERT INTO jobs (id, user, submitted, name, command, spec, started, gpus, ended,"
          " outcome, code, note, sum) SELECT *, ") +
      kJobSum +
      " FROM (SELECT ?1 AS id, ?2 AS user, ?3 AS submitted, ?4 AS name, ?5 AS command, ?6 AS spec,"
      " ?7 AS started, ?8 AS gpus, ?9 AS ended, ?10 AS outcome, ?11 AS code, ?12 AS note)";
  state.last_job = std::max(state.last_job, row.job);
  const EndColumns end = EndColumns::of(row.end);
  return only_errors(state.write(sql.c_str(), column(row.job), std::int64_t{row.spec.user.value()},
                                 column(row.submitted), std::string_view(row.name),
                                 std::string_view(row.command), Blob{codec::kept(row.spec)},
                                 column_or_null(row.started), Blob{encoded(row.gpus)}, end.at,
                                 end.outcome, end.code, end.note));
}

Expected<void> Store::change_job(JobId job, const JobSpec& spec, std::string_view name) {
  return state_->write_one(
      job,
      "UPDATE jobs SET name = ?2, spec = ?3, sum = row_mix(sum,"
      " row_part('request', id, user, submitted, name, command, spec),"
      " row_part('request', id, user, submitted, ?2, command, ?3)) WHERE id = ?1",
      column(job), name, Blob{codec::kept(spec)});
}

Expected<void> Store::add_attempt(const AttemptRow& row) {
  static const std::string sql =
      std::string(
          "INSERT OR REPLACE INTO attempts (job, attempt, granted, started, gpus, ended, outcome,"
          " code, note, sum) SELECT *, ") +
      kAttemptSum +
      " FROM (SELECT ?1 AS job, ?2 AS attempt, ?3 AS granted, ?4 AS started, ?5 AS gpus,"
      " ?6 AS ended, ?7 AS outcome, ?8 AS code, ?9 AS note)";
  const std::string gpus = encoded(row.gpus);
  if (auto done = state_->write_one(row.job,
                                    "UPDATE jobs SET gpus = ?2, sum = row_mix(sum,"
                                    " row_part('gpus', id, gpus), row_part('gpus', id, ?2))"
                                    " WHERE id = ?1",
                                    column(row.job), Blob{gpus});
      !done) {
    return done;
  }
  const EndColumns end = EndColumns::of(row.end);
  return only_errors(state_->write(sql.c_str(), column(row.job), std::int64_t{row.attempt.value()},
                                   column(row.granted), column_or_null(row.started), Blob{gpus},
                                   end.at, end.outcome, end.code, end.note));
}

Expected<void> Store::set_started(JobId job, Attempt attempt, Instant at) {
  if (auto done = state_->write_one(
          job,
          "UPDATE attempts SET started = coalesce(started, ?3), sum = row_mix(sum,"
          " row_part('started', job, attempt, started),"
          " row_part('started', job, attempt, coalesce(started, ?3)))"
          " WHERE job = ?1 AND attempt = ?2",
          column(job), std::int64_t{attempt.value()}, column_or_null(at));
      !done) {
    return done;
  }
  return only_errors(
      state_->write("UPDATE jobs SET started = ?2, sum = row_mix(sum,"
                    " row_part('started', id, started), row_part('started', id, ?2))"
                    " WHERE id = ?1 AND started IS NULL",
                    column(job), column_or_null(at)));
}

Expected<void> Store::end_attempt(JobId job, Attempt attempt, const End& end) {
  const EndColumns columns(end);
  return state_->write_one(
      job,
      "UPDATE attempts SET ended = ?3, outcome = ?4, code = ?5, note = ?6, sum = row_mix(sum,"
      " row_part('end', job, attempt, ended, outcome, code, note),"
      " row_part('end', job, attempt, ?3, ?4, ?5, ?6)) WHERE job = ?1 AND attempt = ?2",
      column(job), std::int64_t{attempt.value()}, columns.at, columns.outcome, columns.code,
      columns.note);
}

Expected<void> Store::end_job(JobId job, const End& end) {
  const EndColumns columns(end);
  return state_->write_one(
      job,
      "UPDATE jobs SET ended = ?2, outcome = ?3, code = ?4, note = ?5, sum = row_mix(sum,"
      " row_part('end', id, ended, outcome, code, note), row_part('end', id, ?2, ?3, ?4, ?5))"
      " WHERE id = ?1",
      column(job), columns.at, columns.outcome, columns.code, columns.note);
}

Expected<void> Store::set_report(JobId job, const ReportRow& row) {
  static const std::string sql =
      std::string("INSERT INTO reports (job, key, value, at, sum) SELECT *, ") + kReportSum +
      " FROM (SELECT ?1 AS job, ?2 AS key, ?3 AS value, ?4 AS at)"
      " WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?1) ON CONFLICT (job, key)"
      " DO UPDATE SET value = excluded.value, at = excluded.at, sum = excluded.sum";
  return state_->write_one(job, sql.c_str(), column(job), std::string_view(row.key), row.value,
                           column(row.at));
}

Expected<void> Store::set_peak(const PeakRow& row) {
  static const std::string sql =
      std::string(
          "INSERT OR REPLACE INTO peaks (job, attempt, user, what, bytes, whole, sum) SELECT *, ") +
      kPeakSum +
      " FROM (SELECT ?1 AS job, ?2 AS attempt, ?3 AS user, ?4 AS what, ?5 AS bytes, ?6 AS whole)";
  return only_errors(state_->write(sql.c_str(), column(row.job), std::int64_t{row.attempt.value()},
                                   std::int64_t{row.user.value()},
                                   static_cast<std::int64_t>(row.what.value()), row.bytes.raw(),
                                   std::int64_t{row.is_whole ? 1 : 0}));
}

Expected<void> Store::set_energy(const EnergyRow& row) {
  static const std::string sql =
      std::string("INSERT OR REPLACE INTO energies (job, attempt, millijoules, sum) SELECT *, ") +
      kEnergySum + " FROM (SELECT ?1 AS job, ?2 AS attempt, ?3 AS millijoules)";
  return only_errors(state_->write(sql.c_str(), column(row.job), std::int64_t{row.attempt.value()},
                                   row.millijoules));
}

}  // namespace berth::journal
