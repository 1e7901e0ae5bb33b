// The parts of a Store; only the .cpp files of this level include it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/codec.hpp"
#include "core/members.hpp"
#include "journal/check.hpp"
#include "journal/checksum.hpp"
#include "journal/mark.hpp"
#include "journal/sqlite.hpp"
#include "journal/store.hpp"
#include "posix/descriptor.hpp"

namespace berth::journal {

/// Blobs that were stored or asked for lately, by their sums: jobs that come together mostly share
/// their commands and environments.
class RecentBlobs {
 public:
  static constexpr std::size_t kMost = 1024;  ///< At least so many are known, at most twice.

  void add(std::int64_t sum, BlobId id) {
    if (fresh_.size() >= kMost) old_ = std::exchange(fresh_, {});
    fresh_[sum] = id;
  }
  /// One that is found stays longer. It may have been rolled back, or have the same sum by chance.
  std::optional<BlobId> find(std::int64_t sum) {
    if (const auto known = fresh_.find(sum); known != fresh_.end()) return known->second;
    const auto known = old_.find(sum);
    if (known == old_.end()) return std::nullopt;
    const BlobId id = known->second;
    add(sum, id);
    return id;
  }

 private:
  std::map<std::int64_t, BlobId> fresh_;
  std::map<std::int64_t, BlobId> old_;
};

struct Store::State {
  /// Of the log's index, while it is reserved. First, so that it is closed last: closing any
  /// descriptor of that file drops the locks that SQLite holds on it in this process.
  Descriptor index{};
  bool is_reserved = false;

  // The owner's thread.
  Connection db;
  Access access = Access::ReadWrite;
  std::optional<Error> failed;  ///< Of the transaction that is open.
  Reach reach;
  JobId last_job;
  std::vector<std::string> notes{};
  RecentBlobs recent{};
  bool is_cutting = false;  ///< Pages have been cut off, and more are to be.

  std::mutex writing;                            ///< Held from begin() to its end.
  std::unique_lock<std::mutex> turn{};           ///< The owner's hold of it.
  std::mutex checkpointing;                      ///< Held to use `background`.
  std::optional<Connection> background{};        ///< For checkpoints beside the owner.
  std::atomic<int> log_pages = 0;                ///< In the write-ahead log, at the last commit.
  std::atomic<bool> has_cut = false;             ///< The file is to be shortened: checkpoint().
  std::atomic<std::uint64_t> commits = 1;        ///< What was there before counts as one.
  Descriptor log{};                              ///< The write-ahead log; also locks the file.
  bool owes_page = true;                         ///< Under `writing`: see begin().
  bool has_begun_log = false;                    ///< The last commit has restarted the log.
  std::atomic<std::int64_t> committed = 0;       ///< `reach`, of transactions that are over.
  std::atomic<std::uint64_t> committed_job = 0;  ///< The same of `last_job`.
  std::mutex marking;                            ///< Held to change and write the mark.
  Mark mark{};
  MarkFile mark_file{};
  std::mutex syncing;                  ///< Held for one wait.
  std::uint64_t durable = 0;           ///< Of `commits`; under `syncing`.
  std::optional<Error> sync_failed{};  ///< Under `syncing`.

  explicit State(Connection connection) : db(std::move(connection)) {}
  Expected<void> lock();
  /// Brings the file to today's schema, and makes what is above. Once. Requires: `log` is locked.
  Expected<void> start_writing(Check& check);
  Expected<void> start_mark(const std::optional<Mark>& before);
  /// The file has everything that was in the log.
  Expected<void> mark_file_changes(const Connection& reader);
  void mark_durable(Reach on_disk, JobId job);
  Expected<void> remember_blobs();
  bool wants_longer_log() const;
  /// One checkpoint on `background`. Returns: how many of the log's pages are in the file now; 0 if
  /// another connection blocks it.
  Expected<int> move_log(int how);
  static int count_pages(void* state, sqlite3* db, const char* name, int pages);

  // ---- For the writing functions. A failure is kept until the transaction ends. ---------------
  Expected<void> may_write() const;
  std::unexpected<Error> keep(Error error);
  template <class... Values>
  Expected<std::int64_t> write(const char* sql, const Values&... values) {
    if (auto may = may_write(); !may) return std::unexpected(may.error());
    auto changed = db.change(sql, values...);
    if (!changed) return keep(changed.error());
    return changed;
  }
  /// The same for a statement that changes one row of this job.
  template <class... Values>
  Expected<void> write_one(JobId job, const char* sql, const Values&... values) {
    const auto changed = write(sql, values...);
    if (!changed) return std::unexpected(changed.error());
    if (*changed == 1) return {};
    return keep({ErrorCode::NotFound, db.path() + ": job " + std::to_string(job.value()) +
                                          ": not there, or not this attempt of it"});
  }
};

// ---- Values as columns
// ---------------------------------------------------------------------------

inline std::int64_t column(JobId job) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(job.value(), kMost));
}
inline std::int64_t column(BlobId blob) { return column(JobId(blob.value())); }
inline BlobId blob_of(std::int64_t column) { return BlobId(static_cast<std::uint64_t>(column)); }
inline std::int64_t column(Instant at) { return micros(at); }
inline std::optional<std::int64_t> column_or_null(Instant at) {
  return at == kNever ? std::nullopt : std::optional(micros(at));
}

/// As the journal encodes it: doc/journal-format.md.
template <class T>
std::string encoded(const T& value) {
  ByteWriter out;
  codec::put(out, value);
  return out.take();
}

inline std::int64_t sum_of_inputs(std::int64_t number, Instant now, std::string_view inputs) {
  return Checksum().add(number).add(micros(now)).add(inputs).value();
}
inline std::int64_t sum_of_decisions(std::int64_t number, std::string_view decisions) {
  return Checksum().add(number).add(decisions).value();
}
/// As the column `continues` has it.
inline std::int64_t column(Continuity continuity) { return continuity == Continuity::Same ? 1 : 0; }
inline std::int64_t sum_of(const Snapshot& snapshot, Continuity continuity) {
  return Checksum()
      .add(snapshot.after)
      .add(column(continuity))
      .add(snapshot.policy)
      .add(snapshot.place)
      .add(snapshot.build)
      .add(snapshot.state)
      .value();
}
/// Of one whose state is in parts, which have sums of their own.
inline std::int64_t sum_of(const Snapshot& snapshot, Continuity continuity, std::int64_t parts) {
  return Checksum().add(sum_of(snapshot, continuity)).add(parts).value();
}
inline std::int64_t sum_of_part(std::int64_t after, std::int64_t part, std::string_view bytes) {
  return Checksum().add(after).add(part).add(bytes).value();
}

}  // namespace berth::journal
