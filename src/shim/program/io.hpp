// The few calls on file descriptors that a shim repeats.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace berth::shim {

using Clock = std::chrono::steady_clock;

/// Appends a line to an attempt file, whole or not at all, by one write. Returns: 0 or an errno.
int append_line(int file, std::string_view line);

/// What a read or write that never blocks came to.
enum class Flow { Some, Full, Ended };
struct Moved {
  Flow flow = Flow::Ended;  ///< Full: nothing now. Ended: nothing ever again.
  std::size_t bytes = 0;
};
Moved read_some(int file, char* into, std::size_t most);
Moved write_some(int file, std::string_view bytes);

}  // namespace berth::shim
