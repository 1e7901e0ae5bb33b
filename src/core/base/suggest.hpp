// The word that was meant where one is mistyped.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth {

/// How many letters must be put in, left out, changed or swapped with the next one to make one word
/// of the other.
std::size_t typing_errors(std::string_view a, std::string_view b);

/// The nearest of these, of several the first; where none is near (one error in three letters), the
/// only one that begins with the three letters or more; else "".
std::string nearest(std::string_view typed, std::span<const std::string> words);

/// `; did you mean X?`, or "".
std::string did_you_mean(std::string_view typed, std::span<const std::string> words);

}  // namespace berth
