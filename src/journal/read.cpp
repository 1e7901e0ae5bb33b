// What a journal holds, as values again.
#include "journal/row_sum.hpp"
#include "journal/state.hpp"

namespace berth::journal {

namespace {

/// Columns as values. A value that no writer wrote fails the query, and its default is returned.
template <class T>
T decoded(Query& query, int column, const char* what) {
  ByteReader in(query.blob(column));
  T value{};
  codec::get(in, value);
  if (in.failed() || !in.at_end()) query.damaged(std::string(what) + " cannot be decoded");
  return value;
}

/// The same for a value with its layout in front.
template <class T>
T kept(Query& query, int column, const char* what) {
  T value{};
  if (!codec::get_kept(query.blob(column), value)) {
    query.damaged(std::string(what) + " cannot be decoded");
  }
  return value;
}

/// A number of a smaller type than the column's.
template <class T>
T narrow(Query& query, int column) {
  const std::int64_t number = query.integer(column);
  if (!std::in_range<T>(number)) query.damaged(std::to_string(number) + " is out of range");
  return static_cast<T>(number);
}

Instant instant_or_never(Query& query, int column) {
  return query.is_null(column) ? kNever : instant_from_micros(query.integer(column));
}

std::optional<Outcome> outcome_in(Query& query, int column) {
  const std::int64_t outcome = query.integer(column);
  if (outcome >= 0 && outcome <= static_cast<std::int64_t>(last_of(Outcome{}))) {
    return static_cast<Outcome>(outcome);
  }
  query.damaged("outcome " + std::to_string(outcome) + " is none");
  return std::nullopt;
}

/// From four columns on: ended, outcome, code, note.
std::optional<End> end_of(Query& query, int column) {
  if (query.is_null(column)) return std::nullopt;
  const auto outcome = outcome_in(query, column + 1);
  if (!outcome) return std::nullopt;
  return End{.at = instant_from_micros(query.integer(column)),
             .outcome = *outcome,
             .code = narrow<std::int32_t>(query, column + 2),
             .note = std::string(query.text(column + 3))};
}

/// What every query of jobs selects; the last column says whether the row has its checksum.
std::string select_job() {
  return std::string(
             "SELECT id, submitted, name, command, spec, started, gpus, ended, outcome,"
             " code, note, sum IS ") +
         kJobSum +
         ", ifnull((SELECT max(bytes) FROM peaks WHERE peaks.job = jobs.id AND peaks.sum IS " +
         kPeakSum +
         "), 0), (SELECT sum(millijoules) FROM energies WHERE energies.job = jobs.id AND"
         " energies.sum IS " +
         kEnergySum + ") FROM jobs ";
}

JobRow job_of(JobId id, Query& query) {
  if (query.integer(11) != 1) return {.job = id, .is_damaged = true};
  const std::string name = "job " + std::to_string(id.value());
  return {.job = id,
          .spec = kept<JobSpec>(query, 4, (name + ": its request").c_str()),
          .submitted = instant_from_micros(query.integer(1)),
          .name = std::string(query.text(2)),
          .command = std::string(query.text(3)),
          .started = instant_or_never(query, 5),
          .gpus = decoded<std::vector<GpuId>>(query, 6, (name + ": its list of GPUs").c_str()),
          .end = end_of(query, 7),
          .peak = Bytes(query.integer(12)),
          .millijoules = query.is_null(13) ? std::nullopt : std::optional(query.integer(13))};
}

PeakRow peak_of(Query& query) {
  return {.job = JobId(static_cast<std::uint64_t>(query.integer(0))),
          .attempt = Attempt(narrow<std::uint32_t>(query, 1)),
          .user = UserId(narrow<std::uint32_t>(query, 2)),
          .what = Fingerprint(static_cast<std::uint64_t>(query.integer(3))),
          .bytes = Bytes(query.integer(4)),
          .is_whole = query.integer(5) != 0};
}

AttemptRow attempt_of(JobId job, Query& query) {
  const Attempt attempt(static_cast<std::uint32_t>(query.integer(0)));
  if (query.integer(8) != 1) return {.job = job, .attempt = attempt, .is_damaged = true};
  return {.job = job,
          .attempt = Attempt(narrow<std::uint32_t>(query, 0)),
          .granted = instant_from_micros(query.integer(1)),
          .started = instant_or_never(query, 2),
          .gpus = decoded<std::vector<GpuId>>(query, 3, "the list of GPUs of an attempt"),
          .end = end_of(query, 4)};
}

ReportRow report_of(Query& query) {
  if (query.integer(3) != 1) return {.is_damaged = true};
  return {.key = std::string(query.text(0)),
          .value = query.integer(1),
          .at = instant_from_micros(query.integer(2))};
}

Entry entry_of(Query& query) {
  Entry entry{.number = query.integer(0),
              .now = instant_from_micros(query.integer(1)),
              .inputs = std::string(query.blob(2)),
              .decisions = std::nullopt};
  const std::string name = "entry " + std::to_string(entry.number);
  if (sum_of_inputs(entry.number, entry.now, entry.inputs) != query.integer(3)) {
    query.damaged(name + ": its inputs do not have their checksum");
  }
  if (query.is_null(4)) return entry;
  entry.decisions = query.blob(4);
  if (sum_of_decisions(entry.number, *entry.decisions) != query.integer(5)) {
    query.damaged(name + ": its decisions do not have their checksum");
  }
  return entry;
}

Snapshot described(Query& query) {
  return {.after = query.integer(0),
          .policy = std::string(query.text(1)),
          .place = std::string(query.text(2)),
          .build = std::string(query.text(3)),
          .continuity = query.integer(4) != 0 ? Continuity::Same : Continuity::Changed,
          .state = {}};
}

struct WithParts {
  Snapshot snapshot;
  std::int64_t parts = 0;  ///< Of its state; none if that is in the row.
};

/// Also its state and checksum.
WithParts whole(Query& query) {
  WithParts found{.snapshot = described(query), .parts = query.integer(7)};
  Snapshot& snapshot = found.snapshot;
  snapshot.state = query.blob(5);
  const std::int64_t sum = found.parts == 0 ? sum_of(snapshot, snapshot.continuity)
                                            : sum_of(snapshot, snapshot.continuity, found.parts);
  if (sum != query.integer(6)) {
    query.damaged("the snapshot after entry " + std::to_string(snapshot.after) +
                  " does not have its checksum");
  }
  return found;
}

/// Its state out of the parts.
Expected<Snapshot> put_together(const Connection& db, WithParts found) {
  if (found.parts == 0) return std::move(found.snapshot);
  const std::int64_t after = found.snapshot.after;
  Query query(db,
              "SELECT part, sum, bytes FROM snapshot_parts WHERE after = ? AND part < ?"
              " ORDER BY part",
              after, found.parts);
  std::int64_t next = 0;
  for (; query.next(); ++next) {
    const std::string_view bytes = query.blob(2);
    if (query.integer(0) != next || query.integer(1) != sum_of_part(after, next, bytes)) break;
    found.snapshot.state += bytes;
  }
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  if (next == found.parts) return std::move(found.snapshot);
  return fail(ErrorCode::BadData, db.path() + ": the snapshot after entry " +
                                      std::to_string(after) + ": part " + std::to_string(next) +
                                      " is missing or does not have its checksum");
}

/// Every row of a query.
template <class Read>
auto all(Query& query, Read read) -> Expected<std::vector<decltype(read(query))>> {
  std::vector<decltype(read(query))> rows;
  while (query.next()) rows.push_back(read(query));
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  return rows;
}

/// The first row of a query, if there is one.
template <class Read>
auto first(Query& query, Read read) -> Expected<std::optional<decltype(read(query))>> {
  std::optional<decltype(read(query))> row;
  if (query.next()) row = read(query);
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  return row;
}

/// The numbers of a page of ended jobs, from an index that ends in the number.
constexpr const char* numbers_query(const PageQuery& page) {
  if (page.user) {
    return page.after ? "SELECT id FROM jobs INDEXED BY ended_jobs_by_user"
                        " WHERE ended IS NOT NULL AND user = ?3 AND id > ?1 ORDER BY id LIMIT ?2"
                      : "SELECT id FROM jobs INDEXED BY ended_jobs_by_user WHERE ended IS NOT NULL"
                        " AND user = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2";
  }
  return page.after ? "SELECT id FROM jobs INDEXED BY ended_jobs"
                      " WHERE ended IS NOT NULL AND id > ?1 ORDER BY id LIMIT ?2"
                    : "SELECT id FROM jobs INDEXED BY ended_jobs"
                      " WHERE ended IS NOT NULL AND id < ?1 ORDER BY id DESC LIMIT ?2";
}

Expected<std::vector<JobId>> numbers_of(const Connection& db, const PageQuery& page) {
  const auto number = [](Query& row) { return JobId(static_cast<std::uint64_t>(row.integer(0))); };
  const std::int64_t bound = column(page.after.value_or(page.before));
  const std::int64_t most = column(JobId(page.most));
  if (page.user) {
    Query query(db, numbers_query(page), bound, most, page.user->value());
    return all(query, number);
  }
  Query query(db, numbers_query(page), bound, most);
  return all(query, number);
}

std::unexpected<Error> broken(const Connection& db, std::int64_t number, const char* what) {
  return fail(ErrorCode::BadData, db.path() + ": entry " + std::to_string(number) + what);
}

/// Entries follow one another, and only the last may have died before its decisions.
Expected<void> check_order(const Connection& db, std::int64_t after,
                           const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.number != ++after) return broken(db, after, ": missing");
    if (!entry.decisions && &entry != &entries.back()) {
      return broken(db, after, ": has no decisions and is not the last");
    }
  }
  return {};
}

}  // namespace

// ---- Recovery
// ------------------------------------------------------------------------------------

Expected<Recovered> Store::recover() const {
  const Connection& db = state_->db;
  Query latest(db,
               "SELECT after, policy, place, build, continues, state, sum, parts FROM snapshots"
               " ORDER BY after DESC LIMIT 1");
  auto row = first(latest, whole);  // unfinished until the end: one moment for all queries
  if (!row) return std::unexpected(row.error());
  std::optional<Snapshot> snapshot;
  if (*row) {
    auto found = put_together(db, std::move(**row));
    if (!found) return std::unexpected(found.error());
    snapshot = std::move(*found);
  }
  const std::int64_t after = snapshot ? snapshot->after : 0;
  auto found = entries(after, std::numeric_limits<std::int64_t>::max());
  if (!found) return std::unexpected(found.error());
  if (!snapshot && !found->empty()) return broken(db, found->front().number, ": no snapshot");
  if (auto done = check_order(db, after, *found); !done) return std::unexpected(done.error());
  return Recovered{.snapshot = std::move(snapshot), .entries = std::move(*found)};
}

Expected<std::vector<Snapshot>> Store::snapshots() const {
  Query query(state_->db,
              "SELECT after, policy, place, build, continues FROM snapshots ORDER BY after");
  return all(query, described);
}

Expected<Snapshot> Store::snapshot(std::int64_t after) const {
  Query query(state_->db,
              "SELECT after, policy, place, build, continues, state, sum, parts FROM snapshots"
              " WHERE after = ?",
              after);
  auto found = first(query, whole);
  if (!found) return std::unexpected(found.error());
  if (*found) return put_together(state_->db, std::move(**found));
  return fail(ErrorCode::NotFound,
              state_->db.path() + ": no snapshot after entry " + std::to_string(after));
}

Expected<std::vector<Entry>> Store::entries(std::int64_t after, std::int64_t last) const {
  Query query(state_->db,
              "SELECT number, now, inputs, inputs_sum, decisions, decisions_sum FROM entries"
              " WHERE number > ? AND number <= ? ORDER BY number",
              after, last);
  return all(query, entry_of);
}

Expected<JobId> Store::last_job() const {
  Query query(state_->db, "SELECT ifnull(max(id), 0) FROM jobs");
  const auto found = first(query, [](Query& row) { return row.integer(0); });
  if (!found) return std::unexpected(found.error());
  return JobId(static_cast<std::uint64_t>(found->value_or(0)));
}

// ---- Pruning
// ----------------------------------------------------------------------------------------

Expected<std::vector<std::pair<JobId, Instant>>> Store::ended_after(JobId after,
                                                                    std::size_t most) const {
  Query query(state_->db,
              "SELECT id, ended FROM jobs INDEXED BY ended_jobs WHERE ended IS NOT NULL AND id > ?"
              " ORDER BY id LIMIT ?",
              column(after), static_cast<std::int64_t>(most));
  return all(query, [](Query& row) {
    return std::pair(JobId(static_cast<std::uint64_t>(row.integer(0))),
                     instant_from_micros(row.integer(1)));
  });
}

Expected<std::vector<JobId>> Store::jobs_after(JobId after, std::size_t most) const {
  Query query(state_->db, "SELECT id FROM jobs WHERE id > ? ORDER BY id LIMIT ?", column(after),
              static_cast<std::int64_t>(most));
  return all(query, [](Query& row) { return JobId(static_cast<std::uint64_t>(row.integer(0))); });
}

Expected<std::vector<BlobId>> Store::blobs_after(BlobId after, std::size_t most) const {
  Query query(state_->db, "SELECT id FROM blobs WHERE id > ? ORDER BY id LIMIT ?", column(after),
              static_cast<std::int64_t>(most));
  return all(query, [](Query& row) { return blob_of(row.integer(0)); });
}

Expected<BlobId> Store::last_blob() const {
  Query query(state_->db, "SELECT ifnull(max(id), 0) FROM blobs");
  const auto found = first(query, [](Query& row) { return blob_of(row.integer(0)); });
  if (!found) return std::unexpected(found.error());
  return found->value_or(BlobId());
}

Expected<Bytes> Store::unused() const {
  const auto pages = number_of(state_->db, "PRAGMA freelist_count");
  const auto size = number_of(state_->db, "PRAGMA page_size");
  if (!pages) return std::unexpected(pages.error());
  if (!size) return std::unexpected(size.error());
  return Bytes(*pages * *size);
}

Expected<bool> Store::can_be_cut() const {
  constexpr std::int64_t kIncremental = 2;
  const auto mode = number_of(state_->db, "PRAGMA auto_vacuum");
  if (!mode) return std::unexpected(mode.error());
  return *mode == kIncremental;
}

// ---- Jobs
// ----------------------------------------------------------------------------------------

Expected<std::vector<std::pair<JobId, std::int64_t>>> Store::arriving() const {
  Query query(state_->db, "SELECT first, tasks FROM arriving ORDER BY first");
  return all(query, [](Query& row) {
    return std::pair(JobId(static_cast<std::uint64_t>(row.integer(0))), row.integer(1));
  });
}

Expected<std::vector<std::pair<JobId, std::string>>> Store::job_notes() const {
  Query query(state_->db, "SELECT job, text FROM notes ORDER BY job");
  return all(query, [](Query& row) {
    return std::pair(JobId(static_cast<std::uint64_t>(row.integer(0))), std::string(row.text(1)));
  });
}

Expected<Bytes> Store::blob_size(BlobId id) const {
  Query query(state_->db, "SELECT length(bytes) FROM blobs WHERE id = ?", column(id));
  const auto found = first(query, [](Query& row) { return Bytes(row.integer(0)); });
  if (!found) return std::unexpected(found.error());
  if (*found) return **found;
  return fail(ErrorCode::NotFound,
              state_->db.path() + ": blob " + std::to_string(id.value()) + ": not there");
}

Expected<std::string> Store::blob(BlobId id) const {
  Query query(state_->db, "SELECT bytes, sum FROM blobs WHERE id = ?", column(id));
  const std::string name = "blob " + std::to_string(id.value());
  auto found = first(query, [&](Query& row) {
    std::string bytes(row.blob(0));
    if (Checksum().add(bytes).value() != row.integer(1)) {
      row.damaged(name + ": does not have its checksum");
    }
    return bytes;
  });
  if (!found) return std::unexpected(found.error());
  if (*found) return std::move(**found);
  return fail(ErrorCode::NotFound, state_->db.path() + ": " + name + ": not there");
}

/// A row that SQLite itself cannot read is a damaged one, too.
Expected<std::optional<JobRow>> Store::job(JobId id) const {
  static const std::string sql = select_job() + "WHERE id = ?";
  Query query(state_->db, sql.c_str(), column(id));
  auto found = first(query, [&](Query& row) { return job_of(id, row); });
  if (found || found.error().code != ErrorCode::BadData) return found;
  return JobRow{.job = id, .is_damaged = true};
}

Expected<std::vector<WaitedRow>> Store::jobs_between(JobId first, JobId last) const {
  static const std::string sql = std::string("SELECT id, spec, ended IS NULL, outcome, sum IS ") +
                                 kJobSum + " FROM jobs WHERE id >= ? AND id <= ? ORDER BY id";
  Query query(state_->db, sql.c_str(), column(first), column(last));
  return all(query, [](Query& row) {
    WaitedRow found{.job = JobId(static_cast<std::uint64_t>(row.integer(0)))};
    if (row.integer(4) != 1) return found;
    const std::string name = "job " + std::to_string(found.job.value());
    const auto spec = kept<JobSpec>(row, 1, (name + ": its request").c_str());
    found.array = spec.conditions->array;
    if (row.integer(2) == 0) found.ended = outcome_in(row, 3);
    return found;
  });
}

/// Row by row, so that one that cannot be read costs no other.
Expected<std::vector<JobRow>> Store::history(const PageQuery& page) const {
  const auto numbers = numbers_of(state_->db, page);
  if (!numbers) return std::unexpected(numbers.error());
  std::vector<JobRow> rows;
  for (const JobId id : *numbers) {
    auto row = job(id);
    if (!row) return std::unexpected(row.error());
    rows.push_back(*row ? std::move(**row) : JobRow{.job = id, .is_damaged = true});
  }
  return rows;
}

Expected<std::vector<EndTally>> Store::ends_of(JobId first, JobId last) const {
  Query query(state_->db,
              "SELECT outcome, count(*), min(started), max(ended) FROM jobs"
              " INDEXED BY ended_jobs WHERE id >= ? AND id <= ? AND ended IS NOT NULL GROUP BY "
              "outcome ORDER BY outcome",
              column(first), column(last));
  return all(query, [](Query& row) {
    const std::int64_t outcome = row.integer(0);
    const bool is_one = outcome >= 0 && outcome <= static_cast<std::int64_t>(last_of(Outcome{}));
    if (!is_one) row.damaged("outcome " + std::to_string(outcome) + " is none");
    return EndTally{.outcome = is_one ? static_cast<Outcome>(outcome) : Outcome::Lost,
                    .jobs = row.integer(1),
                    .first_start = instant_or_never(row, 2),
                    .last_end = instant_from_micros(row.integer(3))};
  });
}

Store::Reading::Reading(const Store& store)
    : store_(store), has_begun_(store.state_->db.change("BEGIN").has_value()) {}

Store::Reading::~Reading() {
  if (has_begun_) static_cast<void>(store_.state_->db.change("COMMIT"));
}

Expected<Instant> Store::first_start_of(JobId first, JobId last) const {
  Query query(state_->db,
              "SELECT min(started) FROM jobs WHERE id >= ? AND id <= ? AND started IS NOT NULL",
              column(first), column(last));
  const auto found = all(query, [](Query& row) { return instant_or_never(row, 0); });
  if (!found) return std::unexpected(found.error());
  return found->empty() ? kNever : found->front();
}

Expected<std::vector<JobId>> Store::failures_of(JobId first, JobId last, std::size_t most) const {
  Query query(state_->db,
              "SELECT id FROM jobs INDEXED BY ended_jobs WHERE id >= ? AND id <= ?"
              " AND ended IS NOT NULL AND outcome IS NOT ? ORDER BY id LIMIT ?",
              column(first), column(last), static_cast<std::int64_t>(Outcome::Done),
              static_cast<std::int64_t>(most));
  return all(query, [](Query& row) { return JobId(static_cast<std::uint64_t>(row.integer(0))); });
}

Expected<std::vector<AttemptRow>> Store::attempts(JobId job) const {
  static const std::string sql =
      std::string("SELECT attempt, granted, started, gpus, ended, outcome, code, note, sum IS ") +
      kAttemptSum + " FROM attempts WHERE job = ? ORDER BY attempt";
  Query query(state_->db, sql.c_str(), column(job));
  return all(query, [&](Query& row) { return attempt_of(job, row); });
}

Expected<std::vector<ReportRow>> Store::reports(JobId job) const {
  static const std::string sql = std::string("SELECT key, value, at, sum IS ") + kReportSum +
                                 " FROM reports WHERE job = ? ORDER BY key";
  Query query(state_->db, sql.c_str(), column(job));
  return all(query, report_of);
}

Expected<std::vector<PeakRow>> Store::peaks(JobId job) const {
  static const std::string sql =
      std::string(
          "SELECT job, attempt, user, what, bytes, whole FROM peaks WHERE job = ? AND sum"
          " IS ") +
      kPeakSum + " ORDER BY attempt";
  Query query(state_->db, sql.c_str(), column(job));
  return all(query, peak_of);
}

Expected<std::vector<EnergyRow>> Store::energies(JobId job) const {
  static const std::string sql =
      std::string("SELECT job, attempt, millijoules FROM energies WHERE job = ? AND sum IS ") +
      kEnergySum + " ORDER BY attempt";
  Query query(state_->db, sql.c_str(), column(job));
  return all(query, [](Query& row) {
    return EnergyRow{.job = JobId(static_cast<std::uint64_t>(row.integer(0))),
                     .attempt = Attempt(narrow<std::uint32_t>(row, 1)),
                     .millijoules = row.integer(2)};
  });
}

Expected<std::vector<Bytes>> Store::peaks_of(UserId user, Fingerprint what,
                                             std::size_t most) const {
  static const std::string sql =
      std::string(
          "SELECT max(bytes) FROM peaks WHERE user = ? AND what = ? AND whole = 1 AND sum"
          " IS ") +
      kPeakSum + " GROUP BY job ORDER BY job DESC LIMIT ?";
  Query query(state_->db, sql.c_str(), std::int64_t{user.value()},
              static_cast<std::int64_t>(what.value()), static_cast<std::int64_t>(most));
  return all(query, [](Query& row) { return Bytes(row.integer(0)); });
}

}  // namespace berth::journal
