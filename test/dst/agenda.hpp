// What happens next in a simulated world: tasks by instant, and by order of
// entry where two are due at one. This time is the world's own: clocks of
// daemons are made of it and may be wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "core/base/time.hpp"

namespace berth::dst {

using Task = std::function<void()>;

/// An event for a process that is gone does not happen.
using Life = std::shared_ptr<const char>;
inline Life new_life() { return std::make_shared<const char>('\0'); }

class Agenda {
 public:
  Instant now() const { return now_; }

  void after(Duration delay, Task task) { tasks_.emplace(now_ + delay, std::move(task)); }
  void after(Duration delay, const Life& life, Task task) {
    after(delay, [life = std::weak_ptr(life), task = std::move(task)] {
      if (!life.expired()) task();
    });
  }

  /// Goes to the next task and does it. Returns: whether there was one.
  bool next() {
    if (tasks_.empty()) return false;
    const auto first = tasks_.extract(tasks_.begin());
    now_ = first.key();
    first.mapped()();
    return true;
  }

 private:
  Instant now_ = kStart;
  std::multimap<Instant, Task> tasks_;
};

}  // namespace berth::dst
