// A check of a TOML text before toml++ 3.3 reads it, whose tables of white space have undefined
// behaviour for characters from U+00A1 to U+0499 and some others.
#pragma once

#include <string_view>

#include "core/base/error.hpp"

namespace berth {

/// Allows bytes beyond ASCII in comments on lines of their own and in lines like `key = "text"`, in
/// a file without multi-line strings. Errors: BadData as `FILE:LINE:COLUMN: ...` for the first such
/// byte elsewhere.
Expected<void> check_toml_bytes(std::string_view text, std::string_view file);

}  // namespace berth
