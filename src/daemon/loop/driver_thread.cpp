#include "daemon/loop/driver_thread.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace berth::daemon {

/// Shared with the thread, so that it can be left behind.
struct DriverThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Call> calls;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t late = 0;  ///< Somebody waited in vain for this many to be done.
  bool stopping = false;
  bool ended = false;
};

DriverThread::DriverThread() : state_(new State) {
  std::thread([state = state_] { run(state); }).detach();
}

void DriverThread::post(Call call) {
  const std::lock_guard lock(state_->mutex);
  state_->calls.push_back(std::move(call));
  ++state_->posted;
  state_->changed.notify_all();
}

bool DriverThread::wait(Duration most) {
  std::unique_lock lock(state_->mutex);
  if (state_->done < state_->late) return false;
  const std::uint64_t wanted = state_->posted;
  const bool is_done = state_->changed.wait_for(lock, most, [&] { return state_->done >= wanted; });
  if (!is_done) state_->late = wanted;
  return is_done;
}

bool DriverThread::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, seconds(1), [&] { return state_->ended; });
}

/// What is queued when it is stopped is left: the next daemon finds it undone.
void DriverThread::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopping || !state->calls.empty(); });
    if (state->stopping) break;
    const Call call = std::move(state->calls.front());
    state->calls.pop_front();
    lock.unlock();
    call();
    lock.lock();
    ++state->done;
    state->changed.notify_all();
  }
  state->ended = true;
  state->changed.notify_all();
}

}  // namespace berth::daemon
