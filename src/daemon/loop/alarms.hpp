// The conductor's alarms on the daemon's loop.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "daemon/loop/loop.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

class Alarms : public live::Alarms {
 public:
  /// Requires: `loop` outlives it.
  Alarms(Loop& loop, const std::function<void(live::Alarm)>& ring) : loop_(loop) {
    for (std::size_t a = 0; a < live::kAlarms; ++a) {
      alarms_[a] = std::make_unique<Loop::Alarm>(
          loop, [ring, alarm = static_cast<live::Alarm>(a)] { ring(alarm); });
    }
  }

  void set(live::Alarm alarm, Duration from_now) override {
    alarms_[static_cast<std::size_t>(alarm)]->set(from_now);
  }
  void post(Task task) override { loop_.post(std::move(task)); }

 private:
  Loop& loop_;
  std::array<std::unique_ptr<Loop::Alarm>, live::kAlarms> alarms_;
};

}  // namespace berth::daemon
