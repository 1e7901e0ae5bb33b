// The frames of the write-ahead log on the disk, examined before SQLite reads it.
//
// SQLite reads a log up to the first frame with a wrong checksum and drops the rest, whether a
// crash has torn the log or a disk has damaged it. The frames are examined first, so that berth can
// say where the log ends and why.
// The format: https://www.sqlite.org/fileformat2.html#walformat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace berth::journal {

/// Frames are counted from 1.
struct LogEnd {
  std::int64_t frames = 0;  ///< Those that the log's length has room for.
  std::int64_t whole = 0;   ///< Those that SQLite reads, up to the last commit.
  /// The first that belongs to this log, by its salts or by what follows it, and is not whole; 0
  /// for the log's own header.
  std::optional<std::int64_t> damaged;
};

/// Reads the whole log from an open descriptor. Errors: Io, naming `path`.
Expected<LogEnd> find_end(int log, const std::string& path);

}  // namespace berth::journal
