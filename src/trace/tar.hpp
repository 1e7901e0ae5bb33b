// Archives of tar with one table in them, as Alibaba publishes its traces.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::trace {

/// True if a text begins as an archive does.
bool is_tar(std::string_view text);

/// The text of the only file in an archive; what macOS adds beside a file is none. Errors: BadData
/// naming the archive for none, several, or one that is cut short.
Expected<std::string> only_file_of_tar(std::string_view archive, std::string_view file);

}  // namespace berth::trace
