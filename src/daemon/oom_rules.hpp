// Words by which programs say that they ran out of GPU memory: data for oom.hpp.
//
// Words count in any case; `*` is anything between two of them in the same line. A framework that
// is missing here is a line in oom_rules.cpp, or an entry of `oom_words` in berth.toml.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::daemon {

/// How much words mean without a second witness (oom.hpp).
enum class Certainty : std::uint8_t {
  Possible,  ///< Also said of other things: nothing, unless the measurement agrees.
  Likely,    ///< Mostly that: counts, unless the measurement contradicts.
  Sure,
};

struct OomRule {
  std::string_view framework;  ///< For people.
  std::string_view words;
  Certainty certainty = Certainty::Sure;
};

std::span<const OomRule> oom_rules();

/// In a line with these, the memory is the host's, or nothing failed.
std::span<const std::string_view> other_memory();

/// What stands before the words, not far, in a line that is advice, documentation or source code:
/// whole words; with `^` in front at the beginning of the line.
std::span<const std::string_view> talk();

/// Whole words in a line of a program that caught it and goes on.
std::span<const std::string_view> caught();

/// Whole words that stand beside a number in a line of a program that goes on.
std::span<const std::string_view> progress();

/// Parts of lines by which a program that is ending anyway names that end: no fault of their own.
std::span<const std::string_view> consequences();

}  // namespace berth::daemon
