// Reading and writing whole files.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::cli {

/// Errors: Io naming the file and the system's reason; BadData for more than `most` bytes.
Expected<std::string> read_file(const std::string& path, std::size_t most);

/// Its first bytes, at most `count`; none if it is not a plain file, which can be read only once.
std::string beginning_of(const std::string& path, std::size_t count);

/// Writes beside the file and renames, so that a reader sees the old text or the new.
/// Errors: Io naming the file and the system's reason.
Expected<void> write_file(const std::string& path, std::string_view text);

}  // namespace berth::cli
