#include "daemon/machine/faults.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kWait{200'000};  ///< Bounds how long the end of a daemon takes.

}  // namespace

/// Shared with the thread, so that one that hangs in a driver can be left behind.
struct Faults::State {
  GpuPort& port;
  std::function<void(const GpuEvent&)> deliver;

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  bool ended = false;
};

Faults::Faults(GpuPort& port, std::function<void(const GpuEvent&)> deliver)
    : state_(new State{.port = port, .deliver = std::move(deliver)}) {
  std::thread([state = state_] { run(*state); }).detach();
}

bool Faults::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, seconds(1), [&] { return state_->ended; });
}

void Faults::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (!state.stopping) {
    lock.unlock();
    const auto event = state.port.wait_event(kWait);
    if (event && *event && !is_application_xid((*event)->xid)) state.deliver(**event);
    lock.lock();
    if (!event) state.changed.wait_for(lock, kWait, [&] { return state.stopping; });
  }
  state.ended = true;
  state.changed.notify_all();
}

}  // namespace berth::daemon
