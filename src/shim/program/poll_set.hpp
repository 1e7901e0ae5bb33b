// What one turn of the shim's loop waits for.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>

namespace berth::shim {

class PollSet {
 public:
  /// A descriptor is added once; its end is always waited for.
  void add(int descriptor, short events) {
    entries_.at(size_++) = {.fd = descriptor, .events = events, .revents = 0};
  }
  /// Milliseconds; -1: without end.
  void wait(int timeout) {
    if (poll(entries_.data(), size_, timeout) > 0) return;
    for (std::size_t i = 0; i < size_; ++i) entries_[i].revents = 0;
  }
  /// Whether one of `events`, an end or an error was seen; false if it was not waited for.
  bool has(int descriptor, short events) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (entries_[i].fd != descriptor) continue;
      return (entries_[i].revents & (events | POLLHUP | POLLERR | POLLNVAL)) != 0;
    }
    return false;
  }

 private:
  std::array<pollfd, 8> entries_{};
  std::size_t size_ = 0;
};

}  // namespace berth::shim
