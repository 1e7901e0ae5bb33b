// Tells that some process has opened a file only to read it, and has closed it again.
#pragma once

#include <poll.h>
#include <sys/inotify.h>

#include <string>

#include "posix/descriptor.hpp"

namespace berth::test {

class ReaderWatch {
 public:
  /// From now on. Requires: the file is there.
  explicit ReaderWatch(const std::string& path) : watch_(inotify_init1(IN_CLOEXEC)) {
    inotify_add_watch(watch_.number(), path.c_str(), IN_CLOSE_NOWRITE);
  }
  /// False if nobody does in a minute.
  bool wait() const {
    constexpr int kMilliseconds = 60'000;
    pollfd seen{.fd = watch_.number(), .events = POLLIN, .revents = 0};
    return poll(&seen, 1, kMilliseconds) > 0;
  }

 private:
  Descriptor watch_;
};

}  // namespace berth::test
