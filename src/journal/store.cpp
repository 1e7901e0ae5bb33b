// Opening, transactions, and what makes a commit durable.
#include "journal/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "journal/row_sum.hpp"
#include "journal/schema.hpp"
#include "journal/state.hpp"

namespace berth::journal {

namespace {

/// Another process's transaction is short; longer than this it is stuck.
constexpr int kBusyMilliseconds = 500;
/// The log is moved into the file at 16 MiB: far beyond one group of commits, so that a page that
/// many of them touch is moved once, and still a fraction of a second to write.
constexpr int kCheckpointPages = 4096;
constexpr int kOverduePages = 8 * kCheckpointPages;
/// So few are moved while the owner waits: a few milliseconds.
constexpr int kFewPages = 256;
constexpr int kMostRounds = 6;
/// How far the log is written ahead at a time: some 80 submits, a millisecond under `writing`.
constexpr Bytes kAhead{1024 * 1024};
constexpr Bytes kPageOfLog{24 + 4096};
/// Of the log's index, which needs 32 KiB for every 4,096 pages.
constexpr Bytes kIndexReserve{256 * 1024};

// synchronous=NORMAL: a commit is written, not waited for; checkpoints still wait. No page of the
// file is mapped, as a read error there would be a signal. What is dropped is not overwritten with
// zeros: that would double the cost of pruning.
constexpr char kSettings[] = R"(
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -8192;
  PRAGMA mmap_size = 0;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = OFF;
  PRAGMA cell_size_check = ON;
  PRAGMA trusted_schema = OFF;
)";

std::unexpected<Error> system_error(const std::string& path, const char* what) {
  return fail(ErrorCode::Io, path + ": " + what + ": " + std::generic_category().message(errno));
}

/// Makes an empty file for its owner's eyes where there is none. An existing one is left alone:
/// closing any descriptor of it would drop the locks that SQLite holds in this process.
Expected<void> make_file(const std::string& path) {
  const Descriptor made(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!made.is_open() && errno != EEXIST) return system_error(path, "cannot be made");
  return {};
}

Expected<void> sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::string name = folder.empty() ? "." : folder;
  const Descriptor opened(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open() || ::fsync(opened.number()) != 0) return system_error(name, "no sync");
  return {};
}

/// The mode is kept in the file.
Expected<void> set_log_mode(const Connection& db) {
  Query query(db, "PRAGMA journal_mode = WAL");
  bool done = false;
  while (query.next()) done = query.text(0) == "wal";  // to its end: only then is the mode in force
  if (auto finished = query.finish(); !finished) return finished;
  if (done) return {};
  return fail(ErrorCode::Io, db.path() + ": its file system has no shared memory for the log");
}

/// SQLite makes the log when the file is first read in that mode. Whether pages can be cut off is
/// settled before the first page is written; said later, it would write to a file that may be
/// damaged.
Expected<void> use_log(const Connection& db) {
  const auto pages = number_of(db, "PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  if (*pages == 0) {
    if (auto done = db.run("PRAGMA auto_vacuum = INCREMENTAL"); !done) return done;
  }
  if (auto done = set_log_mode(db); !done) return done;
  return db.run("SELECT count(*) FROM sqlite_schema");
}

Expected<void> set_up(const Connection& db) {
  sqlite3_busy_timeout(db.raw(), kBusyMilliseconds);
  if (auto done = db.run(kSettings); !done) return done;
  return add_row_sums(db);
}

/// The lock is on the log and not on the file, because of make_file(). It ends with the descriptor,
/// so with the process.
Expected<Descriptor> lock_log(const Connection& db) {
  const char* const name = sqlite3_filename_wal(sqlite3_db_filename(db.raw(), "main"));
  Descriptor log(::open(name, O_RDWR | O_CLOEXEC));
  if (!log.is_open()) return system_error(name, "cannot be opened");
  if (::flock(log.number(), LOCK_EX | LOCK_NB) == 0) return log;
  if (errno != EWOULDBLOCK) return system_error(name, "cannot be locked");
  return fail(ErrorCode::Conflict, db.path() + ": another process is writing it");
}

bool set_aside(const Descriptor& file, Bytes size) {
  return ::fallocate(file.number(), FALLOC_FL_KEEP_SIZE, 0, size.raw()) == 0;
}

/// Writes what a writer before us left in the log once more, and waits for it. The log may read
/// well and not be on the disk: a wait for it that failed made the system forget which pages it
/// still owes, and every later wait would succeed without them.
Expected<void> write_again(const Descriptor& log, const std::string& path) {
  std::array<char, 1 << 16> part{};
  ssize_t got = 0;
  for (off_t at = 0; (got = ::pread(log.number(), part.data(), part.size(), at)) > 0; at += got) {
    const auto size = static_cast<std::size_t>(got);
    if (::pwrite(log.number(), part.data(), size, at) != got) got = -1;
    if (got < 0) break;
  }
  if (got < 0 || ::fdatasync(log.number()) != 0) return system_error(path + "-wal", "no sync");
  return {};
}

/// A reader is in the way, or the disk is full: it goes on as it is.
bool may_wait(int code) { return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_FULL; }

/// Moves the log into the file, so that the next write restarts the log. Returns: how long it was;
/// nothing if it could not be moved.
Expected<std::optional<int>> empty_log(const Connection& db) {
  int frames = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(db.raw(), "main", SQLITE_CHECKPOINT_RESTART, &frames, nullptr);
  if (code == SQLITE_OK) return frames;
  if (may_wait(code)) return std::nullopt;
  return std::unexpected(db.error(code));
}

/// Changes nothing in it but the file's change counter.
Expected<void> write_a_page(const Connection& db) {
  std::int64_t version = 0;
  {
    Query query(db, "PRAGMA user_version");
    if (query.next()) version = query.integer(0);
    if (auto done = query.finish(); !done) return done;
  }
  return db.run(("PRAGMA user_version = " + std::to_string(version)).c_str());
}

/// Restarts the log, so that bytes beyond its end, left by a power loss, can never be taken for
/// part of it. A log of which no frame is whole keeps its salts when it is written again, and old
/// frames that go with them; one that was moved into the file gets others. So it gets one first.
/// Returns: whether the file has everything now.
Expected<bool> begin_log(const Connection& db, const Descriptor& log) {
  auto frames = empty_log(db);
  if (!frames) return std::unexpected(frames.error());
  if (*frames != 0 || ::lseek(log.number(), 0, SEEK_END) == 0) return frames->has_value();
  if (auto done = write_a_page(db); !done) {
    if (may_wait(sqlite3_errcode(db.raw()))) return true;  // there was nothing to be moved
    return std::unexpected(done.error());
  }
  frames = empty_log(db);
  if (!frames) return std::unexpected(frames.error());
  return frames->has_value();
}

/// A connection that is the last to be closed moves the log into the file and removes it. Not so
/// before it is known to be whole.
void keep_log_on_close(const Connection& db, int whether) {
  sqlite3_db_config(db.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, whether, nullptr);
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() {
  if (state_) rollback();
}

const std::string& Store::path() const { return state_->db.path(); }
const std::vector<std::string>& Store::notes() const { return state_->notes; }

JobId Store::last_number() const { return state_->last_job; }

void Store::raise_last_number(JobId last) {
  State& state = *state_;
  state.last_job = std::max(state.last_job, last);
  state.committed_job = state.last_job.value();
  state.mark_durable(Reach::of(state.committed), state.last_job);
}

// ---- Opening
// -------------------------------------------------------------------------------------

Expected<Store> Store::open(const std::string& path, Access access, Loss loss) {
  return access == Access::ReadOnly ? open_to_read(path) : open_to_write(path, loss);
}

Expected<Store> Store::open_to_read(const std::string& path) {
  const auto mark = read_mark(mark_path(path));  // one that cannot be read says nothing
  auto db = Connection::open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE);
  if (!db) return std::unexpected(db.error());
  if (auto done = set_up(*db); !done) return std::unexpected(done.error());
  if (auto done = check_schema(*db, Access::ReadOnly); !done) return std::unexpected(done.error());
  if (auto done = check_to_read(*db, mark.value_or(std::nullopt)); !done) {
    return std::unexpected(done.error());
  }
  auto state = std::make_unique<State>(std::move(*db));
  state->access = Access::ReadOnly;
  return Store(std::move(state));
}

Expected<Store> Store::open_to_write(const std::string& path, Loss loss) {
  Check check(path, loss);
  if (auto done = check.begin(); !done) return std::unexpected(done.error());
  if (auto made = make_file(path); !made) return std::unexpected(made.error());
  auto db = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE);
  if (!db) return std::unexpected(db.error());
  keep_log_on_close(*db, 1);
  auto state = std::make_unique<State>(std::move(*db));
  Expected<void> done = check.file(state->db);
  if (done) done = set_up(state->db);
  if (done) done = check_schema(state->db, Access::ReadWrite);
  if (done) done = use_log(state->db);
  if (done) done = state->lock();
  if (done) done = check.log(state->db, state->log.number());
  if (done) done = check.structure(state->db);
  if (done) done = state->start_writing(check);
  if (!done) return std::unexpected(done.error());
  keep_log_on_close(state->db, 0);
  return Store(std::move(state));
}

Expected<void> Store::State::lock() {
  auto locked = lock_log(db);
  if (!locked) return std::unexpected(locked.error());
  log = std::move(*locked);
  return {};
}

Expected<void> Store::State::start_writing(Check& check) {
  if (auto done = write_again(log, db.path()); !done) return done;
  const auto is_moved = begin_log(db, log);
  if (!is_moved) return std::unexpected(is_moved.error());
  if (auto done = upgrade(db); !done) return done;
  if (auto done = check.mend(db); !done) return done;
  notes = check.take_notes();
  if (auto done = start_mark(check.mark()); !done) return done;
  if (*is_moved) {
    if (auto done = mark_file_changes(db); !done) return done;
    mark_file.settle();
  }
  // The file, its log and its mark may be new names in their folder. SQLite waits for the folder
  // only when it waits for a log it has made, which sync() does in its place.
  const std::string file = sqlite3_db_filename(db.raw(), "main");
  if (auto done = sync_folder_of(file); !done) return done;
  auto second = Connection::open(db.path(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE);
  if (!second) return std::unexpected(second.error());
  if (auto done = set_up(*second); !done) return done;
  background = std::move(*second);
  sqlite3_busy_timeout(background->raw(), 0);  // it must not wait while it holds the writer's lock
  sqlite3_wal_hook(db.raw(), &State::count_pages, this);
  return remember_blobs();
}

/// What the log held has been waited for. What the upgrade wrote since has not, nor is an entry.
Expected<void> Store::State::start_mark(const std::optional<Mark>& before) {
  auto file = MarkFile::open(mark_path(db.path()));
  if (!file) return std::unexpected(file.error());
  mark_file = std::move(*file);
  const auto found = reach_of(db);
  if (!found) return std::unexpected(found.error());
  Query largest(db, "SELECT ifnull(max(id), 0) FROM jobs");
  const std::int64_t job = largest.next() ? largest.integer(0) : 0;
  if (auto done = largest.finish(); !done) return done;
  if (before) mark = *before;
  reach = mark.reach = *found;
  last_job = std::max(mark.last_job, JobId(static_cast<std::uint64_t>(job)));
  committed = reach.number();
  committed_job = last_job.value();
  mark_durable(reach, last_job);
  return {};
}

Expected<void> Store::State::mark_file_changes(const Connection& reader) {
  const auto changes = changes_of_file(reader);
  if (!changes) return std::unexpected(changes.error());
  const std::lock_guard lock(marking);
  mark.changes = *changes;
  mark.last_job = JobId(committed_job);
  mark_file.write(mark);
  return {};
}

void Store::State::mark_durable(Reach on_disk, JobId job) {
  const std::lock_guard lock(marking);
  mark.reach = std::max(mark.reach, on_disk);
  mark.last_job = std::max(mark.last_job, job);
  mark_file.write(mark);
}

/// The latest ones that the daemon before this one stored; not those whose sum is damaged.
Expected<void> Store::State::remember_blobs() {
  Query query(db,
              "SELECT id, sum FROM blobs WHERE typeof(sum) = 'integer' ORDER BY id DESC LIMIT ?",
              std::int64_t{RecentBlobs::kMost});
  while (query.next()) recent.add(query.integer(1), blob_of(query.integer(0)));
  return query.finish();
}

int Store::State::count_pages(void* state, sqlite3*, const char*, int pages) {
  auto& self = *static_cast<State*>(state);
  self.has_begun_log = pages < self.log_pages;
  self.log_pages = pages;
  return SQLITE_OK;
}

// ---- Transactions
// --------------------------------------------------------------------------------

Expected<void> Store::begin() {
  State& state = *state_;
  if (state.db.in_transaction()) {
    return fail(ErrorCode::Conflict, state.db.path() + ": a transaction is open");
  }
  if (state.access == Access::ReadOnly) {
    auto begun = state.db.change("BEGIN");
    return begun ? Expected<void>() : std::unexpected(begun.error());
  }
  std::unique_lock turn(state.writing);
  // SQLite counts on from the first page as it last read it: it must read it again.
  if (state.owes_page) sqlite3_db_release_memory(state.db.raw());
  if (auto begun = state.db.change("BEGIN IMMEDIATE"); !begun) {
    return std::unexpected(begun.error());
  }
  state.turn = std::move(turn);
  if (!state.owes_page) return {};
  // Each log has the first page in it, and with it a change counter that grows: so a file is known
  // to be older than a log that was begun after all of the one before had been moved into it.
  if (auto done = write_a_page(state.db); !done) {
    rollback();
    return done;
  }
  return {};
}

Expected<void> Store::commit() {
  State& state = *state_;
  std::optional<Error> failed = state.failed;
  if (!failed && !state.db.in_transaction()) {
    return fail(ErrorCode::Conflict, state.db.path() + ": no transaction is open");
  }
  if (!failed) {
    if (auto done = state.db.change("COMMIT"); !done) failed = done.error();
  }
  if (failed) {
    rollback();
    return std::unexpected(std::move(*failed));
  }
  if (state.access == Access::ReadOnly) return {};
  state.owes_page = false;
  if (std::exchange(state.has_begun_log, false)) {  // a checkpoint had moved all of the one before
    state.owes_page = true;
    static_cast<void>(state.mark_file_changes(state.db));  // one that fails leaves it behind
  }
  state.committed = state.reach.number();
  state.committed_job = state.last_job.value();
  state.commits.fetch_add(1, std::memory_order_release);
  state.turn.unlock();
  if (state.log_pages >= kOverduePages) {
    // The commit stands whatever comes of this: an error comes back from checkpoint() or sync().
    sqlite3_wal_checkpoint_v2(state.db.raw(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  return {};
}

void Store::rollback() {
  State& state = *state_;
  // A full disk may have made SQLite roll back by itself.
  if (state.db.in_transaction()) static_cast<void>(state.db.change("ROLLBACK"));
  state.failed.reset();
  if (!state.turn.owns_lock()) return;
  state.reach = Reach::of(state.committed);
  state.last_job = JobId(state.committed_job);
  state.turn.unlock();
}

Expected<void> Store::State::may_write() const {
  if (failed) return std::unexpected(*failed);
  if (access == Access::ReadOnly) return fail(ErrorCode::Conflict, db.path() + ": read-only");
  if (!turn.owns_lock()) return fail(ErrorCode::Conflict, db.path() + ": no transaction is open");
  return {};
}

std::unexpected<Error> Store::State::keep(Error error) {
  failed = error;
  return std::unexpected(std::move(error));
}

// ---- Durability
// ----------------------------------------------------------------------------------

Expected<void> Store::sync() const {
  // Every commit is in the log, or was: SQLite restarts the log only after a checkpoint has
  // waited for the log, written its pages to the file and waited for the file. So the log is all
  // there is to wait for, and the commits that are no longer in it are durable already. The log
  // keeps its name and inode while a connection is open, and its name is durable since open().
  //
  // The descriptor is as old as the store: the system tells a write error once to each descriptor
  // that was open then, and forgets the pages.
  State& state = *state_;
  if (state.access == Access::ReadOnly) return {};
  const std::uint64_t wanted = state.commits.load(std::memory_order_acquire);
  const std::lock_guard lock(state.syncing);
  if (state.sync_failed) return std::unexpected(*state.sync_failed);
  if (state.durable >= wanted) return {};  // the previous holder of the lock waited for ours too
  const std::uint64_t covered = state.commits.load(std::memory_order_acquire);
  const Reach covers = Reach::of(state.committed);
  const JobId job(state.committed_job);
  if (::fdatasync(state.log.number()) != 0) {
    state.sync_failed = system_error(state.db.path() + "-wal", "no sync").error();
    return std::unexpected(*state.sync_failed);
  }
  state.durable = covered;
  state.mark_durable(covers, job);
  return {};
}

bool Store::needs_checkpoint() const {
  const State& state = *state_;
  if (state.access == Access::ReadOnly) return false;
  return state.log_pages >= kCheckpointPages || state.has_cut;
}

Expected<void> Store::checkpoint() const {
  State& state = *state_;
  const std::lock_guard lock(state.checkpointing);
  if (!needs_checkpoint()) return {};
  // First nearly all of it, while the owner goes on, and in further rounds what it added meanwhile.
  // The last round keeps the owner from beginning a transaction: only when all has been moved does
  // the next one restart the log.
  for (int round = 0; round < kMostRounds; ++round) {
    const auto moved = state.move_log(SQLITE_CHECKPOINT_PASSIVE);
    if (!moved) return std::unexpected(moved.error());
    if (state.log_pages - *moved < kFewPages) break;
  }
  std::unique_lock turn(state.writing);
  const auto moved = state.move_log(SQLITE_CHECKPOINT_RESTART);
  if (!moved) return std::unexpected(moved.error());
  if (*moved < state.log_pages) return {};
  state.log_pages = 0;
  state.has_cut = false;
  state.owes_page = true;
  if (auto done = state.mark_file_changes(*state.background); !done) return done;
  turn.unlock();  // other commits do not wait for this one
  state.mark_file.settle();
  return {};
}

/// Nothing of it is waited for here: an error must come back from sync(), and is told only once. A
/// log without its header is left alone: zeros there would be a damaged one.
void Store::lengthen_log() const {
  static constexpr std::array<char, 1 << 16> kZeros{};
  State& state = *state_;
  std::unique_lock turn(state.writing);
  if (!state.wants_longer_log()) return;
  struct stat file{};
  if (::fstat(state.log.number(), &file) != 0) return;
  const off_t end = file.st_size;
  off_t at = end;
  while (at < end + kAhead.raw()) {
    const ssize_t written = ::pwrite(state.log.number(), kZeros.data(), kZeros.size(), at);
    if (written <= 0) break;
    at += written;
  }
  turn.unlock();
  ::sync_file_range(state.log.number(), end, at - end, SYNC_FILE_RANGE_WRITE);
}

bool Store::wants_longer_log() const { return state_->wants_longer_log(); }

bool Store::State::wants_longer_log() const {
  struct stat file{};
  if (access == Access::ReadOnly || ::fstat(log.number(), &file) != 0) return false;
  const std::int64_t used = log_pages * kPageOfLog.raw();
  const bool ends_soon = used + kAhead.raw() / 4 > file.st_size;
  return file.st_size > 0 && ends_soon && file.st_size + kAhead.raw() <= kReserve.raw();
}

/// Blocks beyond the end of the file: SQLite writes into them as it appends, and never cuts them
/// off while a connection is open. Nobody else can take them, as they could what is merely free. A
/// file system that cannot set anything aside is used as it is.
Expected<void> Store::reserve() {
  State& state = *state_;
  if (state.is_reserved) return {};
  const std::string index = state.db.path() + "-shm";
  if (!state.index.is_open()) state.index = Descriptor(::open(index.c_str(), O_RDWR | O_CLOEXEC));
  const bool done = set_aside(state.log, kReserve) && set_aside(state.index, kIndexReserve);
  state.is_reserved = done || errno == EOPNOTSUPP;
  if (state.is_reserved) return {};
  return system_error(state.db.path(), "no room for its log can be set aside");
}

Expected<int> Store::State::move_log(int how) {
  int pages = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(background->raw(), "main", how, &pages, &moved);
  if (code == SQLITE_OK) return moved;
  if ((code & 0xff) == SQLITE_BUSY) return 0;  // a reader needs the log as it is: next time
  return std::unexpected(background->error(code));
}

}  // namespace berth::journal
