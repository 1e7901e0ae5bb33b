// Words by which programs say that they ran out of GPU memory, and by which they say that it was
// something else or that they go on: data for oom.hpp.
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

/// What other words in a log say.
enum class Remark : std::uint8_t {
  NotGpu,       ///< In a line with these no memory of a GPU was lacking, whatever else it says.
  OtherMemory,  ///< So it is in a line with these, unless it has words that are Sure.
  Talk,         ///< Whole words not far before, in advice, documentation or source code.
  Opening,      ///< The same at the beginning of the line, however far before.
  Level,        ///< Whole words before, of a line that is no error's.
  Warning,      ///< Whole words before, of a line that may be no error's.
  Caught,       ///< Whole words in a line of a program that goes on; `#`: a digit.
  Progress,     ///< Whole words with a number beside them, of a program that goes on.
  Crash,        ///< Of a program that is ended; often what follows from a failed allocation.
  Fault,        ///< Of another kind.
  Name,         ///< How the name of a fault ends, as in `KeyError: labels`.
  Consequence,  ///< Of a program that ends anyway, or of another that waited for it: no Fault.
  Chained,      ///< The next fault is of the same end, or of an interpreter that cleans up.
};
inline constexpr auto kLastRemark = Remark::Chained;

/// Words of a kind, `*` in them as in a rule.
std::span<const std::string_view> remark_words(Remark remark);

}  // namespace berth::daemon
