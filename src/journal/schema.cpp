#include "journal/schema.hpp"

#include <array>

namespace berth::journal {

namespace {

// STRICT, so that a value has the type of its column; no index that no query needs. An index of
// blobs by their sums would cost each new blob a page at a random place: State::recent finds what
// matters. History is read by descending id, so both of its indices end in the id; that of peaks is
// for those of one program. Rows of jobs and of what they refer to are dropped by live/pruner.hpp;
// snapshots and entries as newer ones come. A large snapshot is in parts, so that no step waits for
// it. `arriving` has the arrays of which not all jobs are there yet, `notes` says what keeps a job
// from running.
constexpr char kVersion1[] = R"(
  CREATE TABLE snapshots (
    after INTEGER PRIMARY KEY,
    policy TEXT NOT NULL,
    place TEXT NOT NULL,
    build TEXT NOT NULL,
    continues INTEGER NOT NULL,
    state BLOB NOT NULL,
    sum INTEGER NOT NULL,
    parts INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE snapshot_parts (
    after INTEGER NOT NULL,
    part INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (after, part)
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
  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    submitted INTEGER NOT NULL,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    spec BLOB NOT NULL,
    started INTEGER,
    gpus BLOB NOT NULL,
    ended INTEGER,
    outcome INTEGER,
    code INTEGER,
    note TEXT,
    sum INTEGER NOT NULL
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
    sum INTEGER NOT NULL,
    PRIMARY KEY (job, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE reports (
    job INTEGER NOT NULL,
    key TEXT NOT NULL,
    value INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (job, key)
  ) STRICT, WITHOUT ROWID;
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
  CREATE TABLE energies (
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    millijoules INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (job, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE arriving (
    first INTEGER PRIMARY KEY,
    tasks INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE notes (
    job INTEGER PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT;
  PRAGMA application_id = 1651668072;
)";
static_assert(kApplicationId == 1651668072);

constexpr char kNewLayout[] = "";  // which an older berth does not read

constexpr std::array kSteps = {kVersion1,  kNewLayout, kNewLayout, kNewLayout, kNewLayout,
                               kNewLayout, kNewLayout, kNewLayout, kNewLayout};
static_assert(kSteps.size() == kSchema);

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
Expected<void> take_step(const Connection& db, Steps steps, std::int64_t from) {
  const auto now = version_of(db);
  if (!now) return std::unexpected(now.error());
  if (*now != from) return {};
  if (auto done = db.run(steps[static_cast<std::size_t>(from)]); !done) return done;
  return db.run(("PRAGMA user_version = " + std::to_string(from + 1)).c_str());
}

Expected<void> upgrade_from(const Connection& db, Steps steps, std::int64_t version) {
  if (auto done = db.run("BEGIN IMMEDIATE"); !done) return done;
  auto done = take_step(db, steps, version);
  if (done) done = db.run("COMMIT");
  if (!done && db.in_transaction()) static_cast<void>(db.run("ROLLBACK"));
  return done;
}

}  // namespace

Steps schema_steps() { return kSteps; }

Expected<void> check_schema(const Connection& db, Access access, Steps steps) {
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
  const std::string schema = db.path() + ": schema " + std::to_string(*version) +
                             ", this berth reads " + std::to_string(steps.size());
  if (*version < 1 || *version > std::ssize(steps)) {
    return fail(ErrorCode::BadData,
                schema +
                    ": start the berth that wrote it, or this one with an empty state folder "
                    "(--state); jobs that run are not touched");
  }
  if (*version < std::ssize(steps) && access == Access::ReadOnly) {
    return fail(ErrorCode::BadData, schema + ": the next start of berthd upgrades it");
  }
  return {};
}

Expected<void> upgrade(const Connection& db, Steps steps) {
  for (std::size_t taken = 0; taken < steps.size(); ++taken) {
    const auto version = version_of(db);
    if (!version) return std::unexpected(version.error());
    if (*version >= std::ssize(steps)) break;
    if (auto done = upgrade_from(db, steps, *version); !done) return done;
  }
  return {};
}

}  // namespace berth::journal
