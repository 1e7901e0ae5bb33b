// Amounts as users type them (core/text/amounts.hpp) and read them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/time.hpp"
#include "core/text/amounts.hpp"

namespace berth::cli {

/// `3s`, `12m05s`, `4h30m`, `2d04h`: two places, rounded down.
std::string elapsed_text(double seconds);

inline double in_seconds(Duration time) { return static_cast<double>(micros(time)) / 1e6; }

/// True for well-formed UTF-8, as JSON strings must be.
bool is_utf8(std::string_view text);

/// A list as it is typed, without the blanks beside its commas: `fifo,sjf` of `fifo, sjf`.
std::string tight_list(std::string_view typed);

}  // namespace berth::cli
