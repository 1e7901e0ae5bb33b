// The engine's thread: one queue, timers and descriptors, over Boost.Asio; and requests of users.
//
// It works in turns, each bounded by time: first events (tasks, timers, descriptors), then
// requests, one user after the other, then slices of long requests, one user after the other, then
// the step. So a start, a limit and the end of a job never wait for a list, and a request waits for
// at most one request of each other user.
//
// Everything but post(), ask() and stop() belongs to the thread that calls run().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/time.hpp"

namespace berth::daemon {

using Task = std::function<void()>;
/// Does a slice of a long request, for as long as Loop::has_time(). Returns: whether more is left.
using Slices = std::function<bool()>;

class Loop {
 public:
  Loop();
  ~Loop();

  /// Queues a task; from any thread. Tasks of one thread keep their order.
  void post(Task task);
  /// Queues a request of a user; from any thread. Requests of one user keep their order.
  void ask(uid_t user, Task task);
  /// Queues a long request of a user: other users have their turns while it is not done.
  void ask_long(uid_t user, Slices slices);
  /// True while the slice that runs should go on.
  bool has_time() const { return Clock::now() < slice_ends_; }
  /// Lets run() return after the tasks now queued; from any thread.
  void stop();
  /// Runs what is ready, then `after`, and again, until stopped: what came together is one batch.
  /// Where more becomes ready all the time, each part of a turn ends after kPart all the same.
  void run(const Task& after);
  static constexpr Duration kPart = Duration(2000);

  /// The turns so far, each from the first thing that was ready to the end of the step.
  struct Turns {
    /// Of the longest, the thread's time on a processor. A busy machine does not count, but what a
    /// hypervisor takes without telling does.
    Duration work{0};
    Duration blocked{0};  ///< The longest other time: it waited, or others had the processor.
    std::int64_t long_ones = 0;  ///< Those whose work was more than kLongTurn.
  };
  static constexpr Duration kLongTurn = Duration(20'000);
  const Turns& turns() const { return turns_; }

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
  using Clock = std::chrono::steady_clock;
  struct State;
  struct Moment {
    Clock::time_point time;
    Duration work;
  };
  static Moment this_moment();
  void begin_turn();
  void end_turn();
  void wait_for_work();
  bool find_work_busily();
  void run_ready();
  void answer_users();
  void run_slices();

  std::unique_ptr<State> state_;
  std::optional<Moment> turn_began_;
  Turns turns_;
  Duration linger_{0};
  Clock::time_point slice_ends_;
};

}  // namespace berth::daemon
