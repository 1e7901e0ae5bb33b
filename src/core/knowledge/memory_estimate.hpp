// The GPU memory that a job is charged whose user states none, from the peaks of earlier runs.
//
// The runs are of the same program (live/telling_words), so the largest peak of the latest ones
// counts, with a margin that shrinks with evidence. A pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/base/units.hpp"

namespace berth {

/// The runs that memory is learned from, at most.
inline constexpr std::size_t kMostPeaks = 16;

/// `peak + max(512 MiB, peak x (10 % + 40 % / n))` of the largest of n peaks, rounded up to 64 MiB;
/// nothing without peaks.
std::optional<Bytes> memory_from(std::span<const Bytes> peaks);

}  // namespace berth
