#include "gpu/list/suspend.hpp"

#include <chrono>
#include <cstdio>

#include "gpu/checkpoint.hpp"

namespace berth {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration kLockTimeout = seconds(10);

long long microseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

Expected<void> suspend(CheckpointPort& port, pid_t process) {
  const auto began = Clock::now();
  if (auto done = port.lock(process, kLockTimeout); !done) return done;
  const auto locked = Clock::now();
  if (auto done = port.checkpoint(process); !done) {
    static_cast<void>(port.unlock(process));
    return done;
  }
  std::printf("suspended %d lock-us %lld copy-us %lld\n", static_cast<int>(process),
              microseconds_between(began, locked), microseconds_between(locked, Clock::now()));
  return {};
}

Expected<void> resume(CheckpointPort& port, pid_t process) {
  const auto began = Clock::now();
  if (auto done = port.restore(process, {}); !done) return done;
  const auto restored = Clock::now();
  if (auto done = port.unlock(process); !done) return done;
  std::printf("resumed %d copy-us %lld unlock-us %lld\n", static_cast<int>(process),
              microseconds_between(began, restored), microseconds_between(restored, Clock::now()));
  return {};
}

}  // namespace

Expected<void> move_process(const std::string& cuda, pid_t process, Direction direction) {
  const auto opened = open_checkpoints(cuda);
  if (!opened) return std::unexpected(opened.error());
  return direction == Direction::Suspend ? suspend(*opened->port, process)
                                         : resume(*opened->port, process);
}

}  // namespace berth
