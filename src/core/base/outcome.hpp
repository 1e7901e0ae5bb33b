// How a job ends.
#pragma once

#include <cstdint>

namespace berth {

/// These words and those of JobState are the ones users see.
enum class Outcome : std::uint8_t { Done, Failed, Oom, Cancelled, Timeout, Lost, Rejected };

}  // namespace berth
