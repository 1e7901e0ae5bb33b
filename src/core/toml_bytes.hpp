// What a TOML text must be like before it is given to toml++ 3.3, whose tables of blanks leave the
// letters from U+00A1 to U+0499, and others, to undefined behaviour.
#pragma once

#include <string_view>

#include "core/error.hpp"

namespace berth {

/// Bytes beyond ASCII may stand in comments on lines of their own and in lines like `key = "text"`,
/// in a file without texts of several lines. Errors: BadData as `FILE:LINE:COLUMN: ...` for the
/// first that stands elsewhere.
Expected<void> check_toml_bytes(std::string_view text, std::string_view file);

}  // namespace berth
