#include "journal/schema.hpp"

#include <array>

#include "journal/row_sum.hpp"

namespace berth::journal {

namespace {

// STRICT, so that a value has the type of its column; no index that no query needs. History is read
// by descending id, so both of its indices end in the id. Rows of jobs and of
// what they refer to are dropped by live/pruner.hpp; snapshots and entries as newer ones come.
constexpr char kVersion1[] = R"(
  CREATE TABLE snapshots (
    after INTEGER PRIMARY KEY,
    policy TEXT NOT NULL,
    place TEXT NOT NULL,
    build TEXT NOT NULL,
    continues INTEGER NOT NULL,
    state BLOB NOT NULL,
    sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    now INTEGER NOT NULL,
    inputs BLOB NOT NULL,
    inputs_sum INTEGER NOT NULL,
    decisions BLOB,
    decisions_sum INTEGER
  ) STRICT;
  CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    sum INTEGER NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;
  CREATE INDEX blobs_by_sum ON blobs (sum);
  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    submitted INTEGER NOT NULL,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    spec BLOB NOT NULL,
    spec_sum INTEGER NOT NULL,
    started INTEGER,
    gpus BLOB NOT NULL,
    ended INTEGER,
    outcome INTEGER,
    code INTEGER,
    note TEXT
  ) STRICT;
  CREATE INDEX ended_jobs ON jobs (id) WHERE ended IS NOT NULL;
  CREATE INDEX ended_jobs_by_user ON jobs (user, id) WHERE ended IS NOT NULL;
  CREATE TABLE attempts (
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    granted INTEGER NOT NULL,
    started INTEGER,
    gpus BLOB NOT NULL,
    ended INTEGER,
    outcome INTEGER,
    code INTEGER,
    note TEXT,
    PRIMARY KEY (job, attempt)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = 1651668072;
  PRAGMA user_version = 1;
)";
static_assert(kApplicationId == 1651668072);

constexpr char kVersion2[] = R"(
  CREATE TABLE reports (
    job INTEGER NOT NULL,
    key TEXT NOT NULL,
    value INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (job, key)
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 2;
)";

// The index cost each new blob a page at a random place of it, which a journal of a million jobs
// with environments of their own writes, waits for and moves: State::recent finds what matters.
constexpr char kVersion3[] = R"(
  DROP INDEX blobs_by_sum;
  PRAGMA user_version = 3;
)";

// Each row that users see has a checksum. A request that did not have its own gets a wrong one.
constexpr char kVersion4[] = R"(
  ALTER TABLE jobs ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
  UPDATE jobs SET sum = iif(spec_sum = row_part(id, spec), 0, 1);
  ALTER TABLE jobs DROP COLUMN spec_sum;
  ALTER TABLE attempts ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE reports ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
  UPDATE jobs SET sum = row_mix(sum, $JOB);
  UPDATE attempts SET sum = $ATTEMPT;
  UPDATE reports SET sum = $REPORT;
  PRAGMA user_version = 4;
)";

// A large snapshot is written in parts, so that no step waits for it.
constexpr char kVersion5[] = R"(
  ALTER TABLE snapshots ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE snapshot_parts (
    after INTEGER NOT NULL,
    part INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (after, part)
  ) STRICT;
  PRAGMA user_version = 5;
)";

// Requests, inputs and decisions say from now on which layout they have (core/codec.hpp), and older
// berths cannot read today's. What is there stays as it is: it says none, and is read as before.
constexpr char kVersion6[] = "PRAGMA user_version = 6;";
// Likewise.
constexpr char kVersion7[] = "PRAGMA user_version = 7;";
constexpr char kVersion8[] = "PRAGMA user_version = 8;";
constexpr char kVersion9[] = "PRAGMA user_version = 9;";
constexpr char kVersion10[] = "PRAGMA user_version = 10;";

// The GPU memory that attempts held at most. The index is for those of one program.
constexpr char kVersion11[] = R"(
  CREATE TABLE peaks (
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    user INTEGER NOT NULL,
    what INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    whole INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (job, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX peaks_by_program ON peaks (user, what, job);
  PRAGMA user_version = 11;
)";

// Requests and inputs say more, as before version 10.
constexpr char kVersion12[] = "PRAGMA user_version = 12;";

// The energy that attempts took of their GPUs.
constexpr char kVersion13[] = R"(
  CREATE TABLE energies (
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    millijoules INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (job, attempt)
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 13;
)";

// Decisions and grants say more, as before version 10.
constexpr char kVersion14[] = "PRAGMA user_version = 14;";

// Settings say more, as before version 10.
constexpr char kVersion15[] = "PRAGMA user_version = 15;";

// Jobs say more in snapshots, and there is one more input, as before version 10. Arrays of which
// not all jobs are there yet.
constexpr char kVersion16[] = R"(
  CREATE TABLE arriving (
    first INTEGER PRIMARY KEY,
    tasks INTEGER NOT NULL
  ) STRICT;
  PRAGMA user_version = 16;
)";

// Who keeps a job from running.
constexpr char kVersion17[] = R"(
  CREATE TABLE notes (
    job INTEGER PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = 17;
)";

/// The n-th makes version n + 1 of version n. Released ones never change.
constexpr std::array kSteps = {kVersion1,  kVersion2,  kVersion3,  kVersion4,  kVersion5,
                               kVersion6,  kVersion7,  kVersion8,  kVersion9,  kVersion10,
                               kVersion11, kVersion12, kVersion13, kVersion14, kVersion15,
                               kVersion16, kVersion17};
static_assert(kSteps.size() == kSchema);

/// Of the n-th step: with the sums' formulas in the place of their names.
std::string statements_of(std::size_t step) {
  std::string sql = kSteps[step];
  for (const auto& [name, formula] :
       {std::pair("$JOB", kJobSum), {"$ATTEMPT", kAttemptSum}, {"$REPORT", kReportSum}}) {
    const std::size_t at = sql.find(name);
    if (at != std::string::npos) sql.replace(at, std::string_view(name).size(), formula);
  }
  return sql;
}

Expected<std::int64_t> version_of(const Connection& db) {
  return number_of(db, "PRAGMA user_version");
}

/// No table and no mark: no process has written to it, or the first died before its first commit.
Expected<bool> is_new(const Connection& db) {
  const auto mark = number_of(db, "PRAGMA application_id");
  const auto version = version_of(db);
  const auto tables = number_of(db, "SELECT count(*) FROM sqlite_schema");
  for (const auto* found : {&mark, &version, &tables}) {
    if (!*found) return std::unexpected(found->error());
  }
  return *mark == 0 && *version == 0 && *tables == 0;
}

/// Another process may have done this step since the version was read.
Expected<void> take_step(const Connection& db, std::int64_t from) {
  const auto now = version_of(db);
  if (!now) return std::unexpected(now.error());
  if (*now != from) return {};
  return db.run(statements_of(static_cast<std::size_t>(from)).c_str());
}

Expected<void> upgrade_from(const Connection& db, std::int64_t version) {
  if (auto done = db.run("BEGIN IMMEDIATE"); !done) return done;
  auto done = take_step(db, version);
  if (done) done = db.run("COMMIT");
  if (!done && db.in_transaction()) static_cast<void>(db.run("ROLLBACK"));
  return done;
}

}  // namespace

Expected<void> check_schema(const Connection& db, Access access) {
  const auto fresh = is_new(db);
  if (!fresh) return std::unexpected(fresh.error());
  if (*fresh && access == Access::ReadWrite) return {};
  const auto mark = number_of(db, "PRAGMA application_id");
  const auto version = version_of(db);
  if (!mark) return std::unexpected(mark.error());
  if (!version) return std::unexpected(version.error());
  if (*mark != kApplicationId) {
    return fail(ErrorCode::BadData, db.path() + ": is not a journal of berth (application id " +
                                        std::to_string(*mark) + ", expected " +
                                        std::to_string(kApplicationId) + ")");
  }
  const std::string schema = db.path() + ": schema " + std::to_string(*version);
  if (*version < 1) return fail(ErrorCode::BadData, schema + ", the first is 1");
  if (*version > kSchema) {
    return fail(ErrorCode::BadData, schema + ", this berthd knows up to " +
                                        std::to_string(kSchema) + ": upgrade berth");
  }
  if (*version < kSchema && access == Access::ReadOnly) {
    return fail(ErrorCode::BadData, schema + ", this berth reads " + std::to_string(kSchema) +
                                        ": the next start of berthd upgrades it");
  }
  return {};
}

Expected<void> upgrade(const Connection& db) {
  for (std::int64_t step = 0; step < kSchema; ++step) {
    const auto version = version_of(db);
    if (!version) return std::unexpected(version.error());
    if (*version >= kSchema) break;
    if (auto done = upgrade_from(db, *version); !done) return done;
  }
  return {};
}

}  // namespace berth::journal
