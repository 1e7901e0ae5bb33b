// Whole files in and out.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace berth::cli {

/// Errors: Io naming the file and the system's reason.
Expected<std::string> read_file(const std::string& path);

/// Writes beside the file and renames, so that a reader sees the old text or the new.
/// Errors: Io naming the file and the system's reason.
Expected<void> write_file(const std::string& path, std::string_view text);

}  // namespace berth::cli
