// Sleeping on a word of the shared file. A wake-up may be missed if the waker dies first: callers
// pass a deadline and look again.
#pragma once

#include <cstdint>

#include "emu/state/layout.hpp"

namespace berth::emu {

inline constexpr std::uint64_t kSecond = 1000000000;  ///< In nanoseconds, as all times here.

/// Sleeps while `word` is `seen`, until woken or until CLOCK_MONOTONIC shows `deadline`.
void wait_on(SharedFutex& word, std::uint32_t seen, std::uint64_t deadline_nanoseconds);

/// Changes the word and wakes every thread that sleeps on it.
void wake_all(SharedFutex& word);

}  // namespace berth::emu
