// Letters, and amounts as text for users.
#pragma once

#include <string>
#include <string_view>

#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/request.hpp"

namespace berth {

// Of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
constexpr char lowered(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

/// One word for a shell: in quotes where it needs them, `train.py`, `'two words'`.
std::string shell_quoted(std::string_view word);

/// `24 GiB`, `1.5 GiB`, `300 MiB`, `17 B`: three significant digits at most, powers of 1024.
std::string to_text(Bytes bytes);
/// `3 cores` without the word: `0.5`, `3`.
std::string cores_text(CpuMilli cpu);
/// `2 GPUs of 10 GiB`, `1 whole GPU`, `no GPU`.
std::string to_text(const Request& request);
/// Seconds with at most six decimals and no trailing zeros: `0`, `12.5`, `-3`.
std::string seconds_text(Duration duration);
std::string seconds_text(Instant instant);
/// As it is typed: `1h30min`, `90d`, `12.5s`.
std::string duration_text(Duration duration);

}  // namespace berth
