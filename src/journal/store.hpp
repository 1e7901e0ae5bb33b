// The daemon's memory on disk: one SQLite file in WAL mode, doc/journal-format.md.
//
// It has two parts. The journal proper is snapshots of the engine, and every step since as inputs
// and decisions; it alone is the truth after a crash. The history is the part of a job that the
// engine does not know: name, command, environment, attempts, reports, end. Both are written in the
// same transactions, so they never disagree.
//
// A commit is a write, not a wait: after it a crash of the daemon loses nothing. sync() then makes
// every commit before it survive a crash of the machine. sync() and checkpoint() may run on other
// threads, so that one wait serves many commits; everything else belongs to one thread.
//
// A file has one writer at a time; readers of other processes never wait for it nor it for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"

namespace berth::journal {

/// The schema this build writes. An older file is upgraded when it is opened to write, and any
/// other is refused (journal/schema.hpp).
inline constexpr int kSchema = 9;

/// How a snapshot relates to the entry before it.
enum class Continuity : std::uint8_t {
  /// The same engine, saved: deciding again from the snapshot before must end in its state.
  Same,
  /// The first; or the daemon changed policy, cluster or build in between; or it replayed
  /// decisions,
  /// which leaves the policy's own memory behind.
  Changed,
};

/// The engine at one moment; recovery and verification begin there.
struct Snapshot {
  std::int64_t after = 0;  ///< The number of the last entry it contains; 0 before the first.
  std::string policy;      ///< As make_policy takes them.
  std::string place;
  std::string build;  ///< The version of berth that wrote it and the entries that follow.
  Continuity continuity = Continuity::Changed;
  std::string state;  ///< Engine::save().
};

/// One step: doc/journal-format.md. Written in two parts: inputs before the step, decisions after.
struct Entry {
  std::int64_t number = 0;  ///< From 1, without gaps.
  Instant now;
  std::string inputs;                    ///< encode_inputs().
  std::optional<std::string> decisions;  ///< encode_decisions(); none if a crash came between.
};

/// How a job ended, or that it has not.
struct End {
  Instant at;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
  std::string note;  ///< Why, where the outcome does not say it all.
};

/// A job as users know it. Instants are microseconds since 1970.
struct JobRow {
  JobId job;
  JobSpec spec;
  Instant submitted;
  std::string name;
  std::string command;       ///< For lists: the command line, shortened.
  Instant started = kNever;  ///< The first attempt that ran.
  std::vector<GpuId> gpus;   ///< Of the latest attempt.
  std::optional<End> end;
  Bytes peak{0};                            ///< Of all attempts that have ended; zero: not known.
  std::optional<std::int64_t> millijoules;  ///< Sum of attempts that are over, where it is known.
  bool is_damaged = false;                  ///< On the disk: only its number is known.
};

/// One berth of a job.
struct AttemptRow {
  JobId job;
  Attempt attempt;
  Instant granted;
  Instant started = kNever;
  std::vector<GpuId> gpus;
  std::optional<End> end;
  bool is_damaged = false;  ///< On the disk: only its number is known.
};

/// The most GPU memory that an attempt was seen to hold on one GPU.
struct PeakRow {
  JobId job;
  Attempt attempt;
  UserId user;
  Fingerprint what;  ///< Its program, so that the peaks of its runs can be found.
  Bytes bytes{0};
  bool is_whole = false;  ///< The program came to its end, or to its time limit.
};

/// What an attempt took of its GPUs' energy.
struct EnergyRow {
  JobId job;
  Attempt attempt;
  std::int64_t millijoules = 0;
};

/// The latest value a job reported under a key, in millionths.
struct ReportRow {
  std::string key;
  std::int64_t value = 0;
  Instant at;
  bool is_damaged = false;  ///< On the disk: not even its key is known.
};

/// What one must know of a job to wait for it.
struct WaitedRow {
  JobId job;
  ArrayPlace array;
  std::optional<Outcome> ended;
};

/// Which jobs a page of history holds.
struct PageQuery {
  JobId before{~std::uint64_t{0}};  ///< Only smaller ids; pages go from new to old.
  std::optional<JobId> after;       ///< If set, in place of `before`: larger ids, from old to new.
  std::optional<UserId> user;
  std::size_t most = 100;
};

/// How some jobs ended, by outcome.
struct EndTally {
  Outcome outcome = Outcome::Done;
  std::int64_t jobs = 0;
  Instant first_start = kNever;  ///< Of those that started.
  Instant last_end;
};

/// Where recovery begins and what came after.
struct Recovered {
  std::optional<Snapshot> snapshot;  ///< None: the file is new.
  std::vector<Entry> entries;        ///< After the snapshot, ascending, none missing.
};

enum class Access : std::uint8_t { ReadWrite, ReadOnly };

/// What to do if an answered request can no longer be read.
enum class Loss : std::uint8_t {
  Refused,   ///< The file is not opened.
  Accepted,  ///< It is opened with its intact part, and the notes name the loss.
};

/// The bytes that Store::reserve() reserves: twice the log's size when it is moved into the file.
inline constexpr Bytes kReserve{std::int64_t{32} << 20};

/// So much that is free stays in the file, so that it need not grow again at once.
inline constexpr Bytes kSpare{std::int64_t{4} << 20};

class Store {
 public:
  /// Opens the file, makes it if it is not there (ReadWrite, mode 0600), upgrades an older schema.
  /// ReadOnly changes nothing, so it refuses an older schema. Errors: Io; Conflict where another
  /// process has it open for writing; BadData naming file and reason for one that is no journal, is
  /// damaged, has lost what was answered, or has another schema (`journal.db: schema 5, this berth
  /// reads 1: ...`).
  static Expected<Store> open(const std::string& path, Access access = Access::ReadWrite,
                              Loss loss = Loss::Refused);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  ///< An open transaction is rolled back.

  const std::string& path() const;
  /// Messages of the opening for the administrator, a line each: damage without loss, and losses
  /// that were accepted.
  const std::vector<std::string>& notes() const;

  // ---- Recovery -----------------------------------------------------------------------------
  /// From the latest snapshot on. Errors: BadData for gaps, for an entry without decisions that is
  /// not the last, and for rows that do not have their checksum.
  Expected<Recovered> recover() const;
  /// Every snapshot kept, without its state, ascending by `after`.
  Expected<std::vector<Snapshot>> snapshots() const;
  Expected<Snapshot> snapshot(std::int64_t after) const;
  /// Entries with after < number <= last, ascending.
  Expected<std::vector<Entry>> entries(std::int64_t after, std::int64_t last) const;
  /// The largest id of a job that is there; 0 for none.
  Expected<JobId> last_job() const;
  /// The largest id that a job was ever given, be it one that was lost.
  JobId last_number() const;
  /// There were jobs with ids up to this one.
  void raise_last_number(JobId last);

  // ---- Writing. Everything between begin() and commit() happens or nothing does. -------------
  // After a write that failed nothing more is written: commit() rolls back and repeats its error.
  // A job or attempt that is not there is NotFound; one that is there already is a Conflict.

  /// ReadOnly: what is read until commit() or rollback() is of one moment.
  Expected<void> begin();
  /// After an error nothing of the transaction has happened.
  Expected<void> commit();
  void rollback();  ///< Does nothing outside a transaction.

  /// Errors: InvalidArgument unless `number` follows the last one.
  Expected<void> add_inputs(std::int64_t number, Instant now, std::string_view inputs);
  /// Errors: Conflict for an entry that is not there or has its decisions.
  Expected<void> add_decisions(std::int64_t number, std::string_view decisions);
  /// Also drops snapshots and entries that neither recovery nor the segment before it needs: the
  /// latest two snapshots and all entries after the older of them stay. A second one after the same
  /// entry takes the place of the first, and is Changed if either is. Errors: InvalidArgument
  /// unless `after` is the last entry.
  Expected<void> add_snapshot(const Snapshot& snapshot);
  /// A snapshot that is written beside the steps: first the parts of its state, from 0 on, each in
  /// a transaction of its own; then, in the last one's, the snapshot, after an entry that need not
  /// be the last one any more. What it makes needless stays until drop_some().
  Expected<void> add_part(std::int64_t after, std::int64_t part, std::string_view bytes);
  Expected<void> add_snapshot_of_parts(const Snapshot& snapshot, std::int64_t parts);
  /// Drops a little of what add_snapshot() would have dropped, and of parts without a snapshot.
  /// Returns: whether there may be more.
  Expected<bool> drop_some();

  /// An array whose jobs are added by several transactions, in the first of these; and none any
  /// more, in the last.
  Expected<void> add_arriving(JobId first, std::int64_t tasks);
  Expected<void> drop_arriving(JobId first);

  /// What is to be known of a job that has not ended; "" drops it.
  Expected<void> set_note(JobId job, std::string_view text);

  /// The id of these bytes. Equal bytes that were stored lately, among the last thousand others,
  /// have one id (compared in full, a hash only finds them).
  Expected<BlobId> add_blob(std::string_view bytes);
  /// The id that add_blob() would give without storing anything; nothing for bytes that it would
  /// store.
  std::optional<BlobId> find_blob(std::string_view bytes) const;
  /// The next blobs are stored, even if equal bytes are there.
  void forget_recent_blobs();
  /// Requires: no job refers to it.
  Expected<void> drop_blob(BlobId id);
  /// Cuts a few pages off the file while more than kSpare and a quarter of it hold nothing; what
  /// stands at its end moves to free pages. The next checkpoint() shortens the file. Cheap, but no
  /// constant: SQLite looks for each page in the list of free ones. Returns: whether there is more
  /// to cut.
  Expected<bool> cut_some();
  /// All rows of a job that has ended; others stay as they are. Its number is not used again.
  Expected<void> drop_job(JobId job);
  Expected<void> add_job(const JobRow& row);
  /// Another request and name for a job that is there.
  Expected<void> change_job(JobId job, const JobSpec& spec, std::string_view name);
  Expected<void> add_attempt(const AttemptRow& row);  ///< Also sets the job's GPUs.
  /// Also sets the job's, for the first attempt that started. A start that is there stays: berthd
  /// hears of it again where it finds the attempt running.
  Expected<void> set_started(JobId job, Attempt attempt, Instant at);
  Expected<void> end_attempt(JobId job, Attempt attempt, const End& end);
  Expected<void> end_job(JobId job, const End& end);
  Expected<void> set_report(JobId job, const ReportRow& row);
  Expected<void> set_peak(const PeakRow& row);
  Expected<void> set_energy(const EnergyRow& row);

  // ---- Reading, inside or outside a transaction ----------------------------------------------
  // A row that does not have its checksum is returned as a damaged one, so that it can be named
  // among others that are well.
  /// For pruning. Ended jobs, and all jobs, with a number above this; ascending, so many at most.
  Expected<std::vector<std::pair<JobId, Instant>>> ended_after(JobId after, std::size_t most) const;
  Expected<std::vector<JobId>> jobs_after(JobId after, std::size_t most) const;
  Expected<std::vector<BlobId>> blobs_after(BlobId after, std::size_t most) const;
  Expected<BlobId> last_blob() const;
  /// Bytes of the file that hold nothing, and are used before it grows.
  Expected<Bytes> unused() const;
  /// Whether cut_some() can do anything. A file that was made of a dump is as long as it ever was
  /// until the administrator rewrites it (doc/journal-format.md).
  Expected<bool> can_be_cut() const;

  /// Arrays of which not all jobs were added, and how many they have.
  Expected<std::vector<std::pair<JobId, std::int64_t>>> arriving() const;
  Expected<std::vector<std::pair<JobId, std::string>>> job_notes() const;  ///< Of set_note().
  Expected<Bytes> blob_size(BlobId id) const;   ///< Likewise; it is not read.
  Expected<std::string> blob(BlobId id) const;  ///< NotFound for an unknown id.
  Expected<std::optional<JobRow>> job(JobId id) const;
  /// Those with numbers from `first` to `last`, ascending; a damaged one has no array and no end.
  /// A few microseconds each.
  Expected<std::vector<WaitedRow>> jobs_between(JobId first, JobId last) const;
  /// Jobs that have ended.
  Expected<std::vector<JobRow>> history(const PageQuery& query) const;
  /// Of the jobs with these numbers that have ended. O(them), about a microsecond each.
  Expected<std::vector<EndTally>> ends_of(JobId first, JobId last) const;
  /// While it lives, what is read is of one moment, and the file's locks are taken once and not for
  /// each query. Within a transaction it does nothing. Requires: the store outlives it; nothing is
  /// written meanwhile.
  class Reading {
   public:
    explicit Reading(const Store& store);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    const Store& store_;
    bool has_begun_;
  };

  /// The first start of any of them, ended or not; kNever: none has started. O(them).
  Expected<Instant> first_start_of(JobId first, JobId last) const;
  /// Those of them that did not end well, ascending; so many at most.
  Expected<std::vector<JobId>> failures_of(JobId first, JobId last, std::size_t most) const;
  Expected<std::vector<AttemptRow>> attempts(JobId job) const;  ///< Ascending.
  Expected<std::vector<ReportRow>> reports(JobId job) const;    ///< By key.
  /// Of a job's attempts, ascending. One that does not have its checksum is not there.
  Expected<std::vector<PeakRow>> peaks(JobId job) const;
  /// Likewise.
  Expected<std::vector<EnergyRow>> energies(JobId job) const;
  /// The peaks of the latest whole runs of this program of a user's, the latest job first.
  Expected<std::vector<Bytes>> peaks_of(UserId user, Fingerprint what, std::size_t most) const;

  /// Makes every commit before this call durable; costs nothing if all are. Thread-safe, beside all
  /// other functions. An error is final: what the system failed to write it may have forgotten, so
  /// every later call repeats it.
  Expected<void> sync() const;
  /// Moves commits from the write-ahead log into the file where enough have gathered, so that the
  /// log does not grow. Call it now and then on a thread that may block: it may take a hundred
  /// milliseconds. Thread-safe, beside all other functions. Without it commit() does
  /// the same when the log is eight times that long.
  Expected<void> checkpoint() const;
  /// Whether that would do anything. Thread-safe, beside all other functions.
  bool needs_checkpoint() const;

  /// Writes zeros behind the log's end, so that commits to come are written over them: a wait for
  /// what makes a file longer, or is written into it first, also waits for the file system's own
  /// records, which takes several times as long. A file system or a disk that does not let it is
  /// used as it is. Thread-safe, beside all other functions; requires that no transaction of the
  /// caller's is open.
  void lengthen_log() const;
  /// Whether the log comes to the end of that soon. Thread-safe, beside all other functions.
  bool wants_longer_log() const;

  /// Sets room on the disk aside for the log, so that what has begun can be written to its end when
  /// the disk is full; costs nothing once that is done. Errors: Io if there is not so much.
  Expected<void> reserve();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  static Expected<Store> open_to_read(const std::string& path);
  static Expected<Store> open_to_write(const std::string& path, Loss loss);
  std::unique_ptr<State> state_;
};

}  // namespace berth::journal
