// The snapshots of the engine's state in the journal: when one is due, and how it gets there.
//
// A snapshot is written in parts from a copy of the state, each in a transaction of its own, so
// that no step waits for it. Before the last part a crash leaves the journal as it was. Belongs to
// the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/error.hpp"
#include "journal/store.hpp"
#include "live/ports.hpp"

namespace berth::live {

/// The bytes of entries before a snapshot, and the bytes of a snapshot written at once.
struct SnapshotSizes {
  std::size_t every = std::size_t{16} << 20;  ///< Bytes of entries, at least.
  std::size_t part = std::size_t{256} << 10;  ///< A millisecond or two.
};

/// Writes to the journal.
using Writing = std::function<Expected<void>(journal::Store&)>;
/// Does so in a transaction, which is taken back if it fails.
using Transact = std::function<Expected<void>(const Writing&)>;

class Snapshots {
 public:
  explicit Snapshots(SnapshotSizes sizes) : sizes_(sizes) {}

  /// The journal has a snapshot of this size, and no entries after it so far.
  void has_one(std::size_t bytes);
  /// An entry was written.
  void add_entry(std::size_t bytes) { since_ += bytes; }
  /// True if there is enough since the last one to be worth it.
  bool is_due() const;
  /// True if there is something new, and so little in all that the end of a daemon can wait for it.
  bool is_quick() const;

  /// Writes a whole one; within a transaction.
  Expected<void> add(journal::Store& store, const journal::Snapshot& whole);
  /// Begins one: a copy of the state is made beside the engine, and work() brings it into the
  /// journal. Nothing while another is being written. `row` is without its state.
  Expected<void> begin(Host& host, const Engine& engine, journal::Snapshot row);
  /// The state of a snapshot that was begun.
  enum class Work {
    None,     ///< Until the next one is due.
    Waiting,  ///< For the copy of the state.
    More,     ///< At once, but for others' turns.
  };
  /// Works on it for a few milliseconds. An error ends the snapshot; the journal does without it.
  Expected<Work> work(const Transact& transact);

 private:
  Expected<void> add_part(const Transact& transact);

  SnapshotSizes sizes_;
  std::size_t since_ = 0;  ///< Bytes of entries.
  std::size_t size_ = 0;   ///< Of the last one.
  /// The snapshot that is being written.
  struct Underway {
    std::unique_ptr<StateCopy> copy;
    journal::Snapshot row;  ///< Without its state, which comes in parts.
    std::int64_t parts = 0;
    std::int64_t bytes = 0;
    std::size_t since = 0;  ///< `since_` when it began.
  };
  std::optional<Underway> underway_;
  std::size_t retry_at_ = 0;  ///< Of `since_`, after a snapshot that failed.
  bool may_drop_ = true;      ///< What snapshots made needless; at first what a crash left.
};

}  // namespace berth::live
