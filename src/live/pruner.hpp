// Removes from the journal what nobody needs any more: jobs that ended long ago, and the
// environments of jobs that have ended.
//
// Works in slices between steps. A pass drops old jobs first; then it marks what the remaining jobs
// refer to, drops the other blobs, and cuts free pages off the file. What it has not looked at it
// keeps, and a row that cannot be read keeps all blobs. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "live/command.hpp"
#include "live/keeper.hpp"

namespace berth::live {

class Pruner {
 public:
  /// Rows at a time: some two milliseconds.
  static constexpr std::size_t kSlice = 64;
  static constexpr std::size_t kBlobs = 16;  ///< Which may have 64 KiB each.

  /// Requires: `keeper` outlives it.
  explicit Pruner(Keeper& keeper) : keeper_(keeper) {}

  /// Begins a pass: jobs that ended before this are dropped.
  void begin(Instant ended_before);
  /// One slice of it. Returns: whether there is more. Errors: Io; the pass is over.
  Expected<bool> advance();
  /// Jobs dropped since the last call.
  std::vector<JobId> take_dropped() { return std::exchange(dropped_, {}); }
  /// Copies of code of which no job is left, since the last call.
  struct OldSnapshot {
    std::string path;
    Credentials owner;
  };
  std::vector<OldSnapshot> take_snapshots() { return std::exchange(snapshots_, {}); }

 private:
  enum class Phase : std::uint8_t { None, Jobs, Marks, Blobs, Pages };

  Expected<bool> drop_jobs();
  Expected<bool> mark();
  Expected<bool> drop_blobs();
  Expected<bool> cut();
  Expected<void> mark_job(JobId job);
  bool is_marked(BlobId blob) const;
  void mark_blob(BlobId blob);
  void note_snapshots(const std::vector<BlobId>& needless);

  Keeper& keeper_;
  Phase phase_ = Phase::None;
  Instant ended_before_;
  JobId job_;                 ///< The last one that was looked at.
  BlobId blob_;               ///< Likewise.
  BlobId last_blob_;          ///< Of those that were there when all jobs were marked.
  std::vector<bool> needed_;  ///< By the blob's number.
  bool is_blind_ = false;     ///< A row could not be read: what it needs is unknown.
  std::vector<JobId> dropped_;
  std::vector<OldSnapshot> snapshots_;
};

}  // namespace berth::live
