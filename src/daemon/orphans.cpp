#include "daemon/orphans.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/processes.hpp"

namespace berth::daemon {

namespace {

/// A process that hangs in a driver, or forks faster than it is killed, is tried again and again.
constexpr std::chrono::milliseconds kKillAgain{5};

}  // namespace

/// Shared with the thread, so that one that hangs can be left behind.
struct Orphans::State {
  std::string mark;
  std::function<void(const shim::Record&)> gone;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<shim::Record> left;
  bool stopping = false;
};

Orphans::Orphans(std::string mark, std::function<void(const shim::Record&)> gone)
    : state_(new State{.mark = std::move(mark), .gone = std::move(gone)}) {
  std::thread([state = state_] { run(*state); }).detach();
}

Orphans::~Orphans() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
}

void Orphans::end(const shim::Record& record) {
  const std::lock_guard lock(state_->mutex);
  state_->left.push_back(record);
  state_->changed.notify_all();
}

void Orphans::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stopping || !state.left.empty(); });
    if (state.stopping) return;
    const std::vector<shim::Record> looked_for = std::exchange(state.left, {});
    for (const shim::Record& record : looked_for) {
      lock.unlock();
      const bool is_gone = kill_left_behind(record, state.mark) == 0;
      lock.lock();
      if (state.stopping) return;
      if (is_gone) {
        state.gone(record);
      } else {
        state.left.push_back(record);
      }
    }
    if (!state.left.empty())
      state.changed.wait_for(lock, kKillAgain, [&] { return state.stopping; });
  }
}

}  // namespace berth::daemon
