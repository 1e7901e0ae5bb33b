// Checks of options that are numbers, in the words of all other errors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace berth::cli {

inline constexpr auto kMostSeed = std::numeric_limits<std::uint64_t>::max();

/// A whole number in a range, digits and nothing else: CLI11 itself reads -1 as the largest there
/// is.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

/// A decimal number in a range; `nan` and `inf` are none.
CLI::Validator decimal_number(double least, double most);

}  // namespace berth::cli
