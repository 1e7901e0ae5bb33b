#include "daemon/loop/clock.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <fstream>

namespace berth::daemon {

namespace {

Instant read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return kStart + seconds(time.tv_sec) + Duration(time.tv_nsec / 1000);
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

Clock::Clock(Instant last) : ahead_(std::max(last, read(CLOCK_REALTIME)) - read(CLOCK_BOOTTIME)) {}

Clock Clock::from(Instant last) {
  Clock clock(last);
  clock.ahead_ = last - read(CLOCK_BOOTTIME);
  return clock;
}

Clock Clock::as_before(Instant last, const std::string& path) {
  return kept(last, path).value_or(Clock(last));
}

std::optional<Clock> Clock::kept(Instant last, const std::string& path) {
  Clock clock(last);
  std::string boot;
  std::int64_t ahead = 0;
  const bool is_known = static_cast<bool>(std::ifstream(path) >> boot >> ahead);
  if (!is_known || boot != boot_id()) return std::nullopt;
  clock.ahead_ = std::max(last - read(CLOCK_BOOTTIME), Duration(ahead));
  return clock;
}

Instant Clock::wall() { return read(CLOCK_REALTIME); }

Instant Clock::now() const { return read(CLOCK_BOOTTIME) + ahead_; }

Instant Clock::at(Instant wall) const {
  return now() - std::max(Duration::zero(), read(CLOCK_REALTIME) - wall);
}

void Clock::keep(const std::string& path) const {
  std::ofstream(path, std::ios::trunc) << boot_id() << ' ' << micros(ahead_) << '\n';
}

bool is_far_ahead(Instant wall, Instant last) {
  constexpr Duration kFar = hours(24) * 366;  // machines may stand still for long
  return last != kStart && wall >= last + kFar;
}

std::string date_text(Instant at) {
  const std::time_t seconds = micros(at) / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string ahead_text(Instant engine, Instant wall) {
  return "berthd's time is " + date_text(engine) +
         ", as its journal has it, and the machine's "
         "clock says " +
         date_text(wall) +
         ": it was wrong then, or it is wrong now; until it is later, times that jobs, drains and "
         "reservations state count as over; if the clock is right now, stop berthd and start it "
         "once with --trust-clock: what ended since is in force again";
}

}  // namespace berth::daemon
