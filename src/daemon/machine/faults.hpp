// The faults thread: waits for Xids, in a driver that may hang.
#pragma once

#include <functional>
#include <memory>

#include "gpu/port.hpp"

namespace berth::daemon {

class Faults {
 public:
  /// `deliver` is called on the faults thread, for what is a fault of a GPU.
  Faults(GpuPort& port, std::function<void(const GpuEvent&)> deliver);
  ~Faults() { stop(); }

  /// Waits for a second at most. Returns: false if the thread still is in the driver; then it is
  /// left behind, and nothing it uses may go while this process lives.
  bool stop();

 private:
  struct State;
  static void run(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace berth::daemon
