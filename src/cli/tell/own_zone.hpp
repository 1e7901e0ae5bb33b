// The times in berthd's words, such as why a job waits, for who reads them: on the clock of here.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

/// `waits until 2026-11-30 19:00:09 +0000` as `waits until 20:00:09`, with the date where that is
/// half a day or more from `now`, in seconds from 1970. What has no zone behind it stays.
std::string in_own_zone(std::string_view text, double now);

}  // namespace berth::cli
