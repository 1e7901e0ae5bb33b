#include "daemon/syncer.hpp"

#include <utility>

namespace berth::daemon {

Syncer::Syncer(Sync sync, std::function<void()> tidy)
    : sync_(std::move(sync)), tidy_(std::move(tidy)), thread_([this] { run(); }) {}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Syncer::after_sync(Promise promise) {
  {
    const std::lock_guard lock(mutex_);
    promises_.push_back(std::move(promise));
  }
  changed_.notify_all();
}

void Syncer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !promises_.empty(); });
    if (promises_.empty()) return;
    const auto promises = std::exchange(promises_, {});
    lock.unlock();
    const Expected<void> synced = sync_();
    for (const Promise& promise : promises) promise(synced);
    tidy_();
    lock.lock();
  }
}

}  // namespace berth::daemon
