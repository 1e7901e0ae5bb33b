// A thread for calls to a driver that may hang, in order; who waits for one waits for a bounded
// time.
#pragma once

#include <functional>
#include <memory>

#include "core/base/time.hpp"

namespace berth::daemon {

class DriverThread {
 public:
  using Call = std::function<void()>;

  DriverThread();
  ~DriverThread() { stop(); }
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;

  /// Queues a call. It must use nothing that may go before this process does: the thread can be
  /// left behind in it. From any thread.
  void post(Call call);
  /// Waits until every call queued before is done. Returns: false if that takes longer than `most`,
  /// or did before and is not done yet: then nobody waits again for a hanging driver.
  bool wait(Duration most);
  /// Waits for a call under way for a second at most. Returns: false if the thread is left behind.
  bool stop();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace berth::daemon
