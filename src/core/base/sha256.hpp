// SHA-256 (FIPS 180-4): which bytes a figure was computed from.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// 64 hexadecimal digits, as `sha256sum` prints them.
std::string sha256(std::string_view bytes);

}  // namespace berth
