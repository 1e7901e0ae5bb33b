// Reading and writing whole files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::cli {

/// Errors: Io naming the file and the system's reason; BadData for more than `most` bytes.
Expected<std::string> read_file(const std::string& path, std::size_t most);

/// Standard input up to its end. Errors: as read_file().
Expected<std::string> read_input(std::size_t most);

/// Its first bytes, at most `count`; none if it is not a plain file, which can be read only once.
std::string beginning_of(const std::string& path, std::size_t count);

/// `-`, or its name below /dev.
bool is_standard_output(std::string_view path);

/// Writes beside the file and renames, so that a reader sees the old text or the new; on standard
/// output behind what is there.
/// Errors: Io naming the file and the system's reason.
Expected<void> write_file(const std::string& path, std::string_view text);

/// A file that was named on the command line, and by what: `--jobs`, `the trace`.
struct NamedFile {
  std::string_view by;
  std::string path;  ///< "": none was.
};

/// Before anything is read or written.
/// Errors: InvalidArgument for an output that is an input or another output, by whatever path: what
/// it has would be lost; Io for one whose folder is not there.
Expected<void> check_apart(std::span<const NamedFile> inputs, std::span<const NamedFile> outputs);

}  // namespace berth::cli
