// Names of files with a job's numbers in them, as Slurm has them: `logs/%x-%4j.out`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// What Slurm writes for %a of a job of no array.
inline constexpr std::int64_t kNoTask = 4'294'967'294;

/// What a letter stands for; nothing if for nothing. `width` is the digits before it, or "".
using PatternMeaning =
    std::function<std::optional<std::string>(char letter, std::string_view width)>;

/// The pattern with each `%WIDTHLETTER` as its meaning; what stands for nothing stays. O(length).
std::string fill_pattern(std::string_view pattern, const PatternMeaning& meaning_of);

/// The number with zeros before it up to this width, ten digits at most.
std::string zero_padded(std::int64_t number, std::string_view width);

}  // namespace berth
