#include "daemon/loop/syncer.hpp"

#include <utility>

namespace berth::daemon {

Syncer::Syncer(Sync sync, Tidying tidying)
    : sync_(std::move(sync)),
      tidying_(std::move(tidying)),
      thread_([this] { run(); }),
      tidier_([this] { tidy(); }) {}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  untidy_.notify_all();
  tidier_.join();
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
    lock.lock();
    if (is_untidy_) continue;  // it is being done: whether more is due is known after it
    lock.unlock();
    const bool is_due = tidying_.is_due();
    lock.lock();
    if (!is_due) continue;
    is_untidy_ = true;
    untidy_.notify_all();
  }
}

void Syncer::tidy() {
  std::unique_lock lock(mutex_);
  while (true) {
    untidy_.wait(lock, [&] { return stopping_ || is_untidy_; });
    if (stopping_) return;
    lock.unlock();
    tidying_.work();
    lock.lock();
    is_untidy_ = false;
  }
}

}  // namespace berth::daemon
