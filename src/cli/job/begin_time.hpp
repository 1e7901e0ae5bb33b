// When a job is to begin, as people type it.
#pragma once

#include <string_view>

#include "core/base/error.hpp"
#include "core/base/time.hpp"

namespace berth::cli {

/// Of the wall clock, as the engine counts.
Instant this_instant();

/// `+2h`, `now+2h`, `2h` (from now); `22:00`, `22:00:30` (the next one); `2026-11-24`,
/// `2026-11-24T22:00`, `2026-11-24 22:00:30`: in the caller's zone. Errors: InvalidArgument, also
/// for a time that is over.
Expected<Instant> parse_begin(std::string_view text, Instant now);

}  // namespace berth::cli
