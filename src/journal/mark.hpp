// The mark: a small file beside a journal that says how much of the journal is on the disk.
//
// A log that a disk has damaged ends too early, and so does one that a crash has torn. Only
// another file can say whether an answer was given for an entry beyond that end. The mark is
// written after each wait for the log and before the answers that waited; it is not waited for
// itself, so after a loss of power it may be some seconds behind. It is never ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "posix/descriptor.hpp"

namespace berth::journal {

/// How far entries go. Every transaction goes further, but those that only write a snapshot.
struct Reach {
  std::int64_t entry = 0;  ///< The number of the last one; 0 for none.
  bool decided = true;     ///< Its decisions are there.

  auto operator<=>(const Reach&) const = default;
  /// One number in the same order.
  std::int64_t number() const { return 2 * entry + (decided ? 1 : 0); }
  static Reach of(std::int64_t number) { return {number / 2, number % 2 != 0}; }
};

struct Mark {
  Reach reach;                ///< Of what is on the disk.
  JobId last_job;             ///< The largest number that a job was ever given.
  std::uint32_t changes = 0;  ///< The file's change counter when all of a log had been moved there.

  bool operator==(const Mark&) const = default;
};

/// `PATH-mark`.
std::string mark_path(const std::string& journal);

/// Returns: nothing if there is no such file. Errors: Io; BadData for a damaged file.
Expected<std::optional<Mark>> read_mark(const std::string& path);

/// The file, for one writer.
class MarkFile {
 public:
  MarkFile() = default;
  /// Made if it is not there, mode 0600.
  static Expected<MarkFile> open(const std::string& path);
  /// One that fails leaves the mark behind, which is no error.
  void write(const Mark& mark) const;
  /// Waits for what was written.
  void settle() const;

 private:
  Descriptor file_{};
};

}  // namespace berth::journal
