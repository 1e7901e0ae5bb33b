#include "daemon/clock.hpp"

#include <algorithm>
#include <ctime>

namespace berth::daemon {

namespace {

Instant read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return kStart + seconds(time.tv_sec) + Duration(time.tv_nsec / 1000);
}

}  // namespace

Clock::Clock(Instant last) : ahead_(std::max(last, read(CLOCK_REALTIME)) - read(CLOCK_BOOTTIME)) {}

Instant Clock::now() const { return read(CLOCK_BOOTTIME) + ahead_; }

}  // namespace berth::daemon
