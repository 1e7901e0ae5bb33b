// The engine's thread: one queue, timers and descriptors, over Boost.Asio.
//
// Everything but post() and stop() belongs to the thread that calls run().
#pragma once

#include <functional>
#include <memory>

#include "core/time.hpp"

namespace berth::daemon {

using Task = std::function<void()>;

class Loop {
 public:
  Loop();
  ~Loop();

  /// Queues a task; from any thread. Tasks of one thread keep their order.
  void post(Task task);
  /// Lets run() return after the tasks now queued; from any thread.
  void stop();
  /// Runs what is ready, then `after`, and again, until stopped: what came together is one batch.
  /// Where more becomes ready all the time, `after` has its turn all the same.
  void run(const Task& after);

  /// The next wait for something to do looks busily for so long before it sleeps: to be woken takes
  /// longer than most answers that are under way.
  void linger(Duration most) { linger_ = most; }

  /// Calls a task whenever a descriptor can be read, until the watch is destroyed. The descriptor
  /// stays its owner's and must outlive the watch.
  class Watch {
   public:
    Watch(Loop& loop, int descriptor, Task readable);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    struct State;
    std::shared_ptr<State> state_;
  };

  /// Calls a task once, some time after it was last set.
  class Alarm {
   public:
    Alarm(Loop& loop, Task task);
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    void set(Duration from_now);
    void clear();

   private:
    struct State;
    std::shared_ptr<State> state_;
  };

 private:
  struct State;
  bool find_work_busily();

  std::unique_ptr<State> state_;
  Duration linger_{0};
};

}  // namespace berth::daemon
