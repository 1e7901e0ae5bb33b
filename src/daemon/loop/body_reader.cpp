#include "daemon/loop/body_reader.hpp"

#include <utility>

namespace berth::daemon {

BodyReader::BodyReader() : thread_([this] { run(); }) {}

BodyReader::~BodyReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BodyReader::read_for(uid_t user, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push(user, std::move(work));
  }
  changed_.notify_all();
}

void BodyReader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    auto next = waiting_.pop();
    lock.unlock();
    next->second();
    next.reset();  // it may hold the last of a connection
    lock.lock();
  }
}

}  // namespace berth::daemon
