#include "daemon/loop/loop.hpp"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#pragma GCC diagnostic pop

#include "live/fair_queue.hpp"

namespace berth::daemon {

namespace asio = boost::asio;

struct Loop::State {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  bool stopped = false;
  std::mutex mutex;
  live::FairQueue<Task> asked;         ///< Under `mutex`.
  live::FairQueue<Slices> asked_long;  ///< Under `mutex`.

  bool is_asked() {
    const std::lock_guard lock(mutex);
    return !asked.empty() || !asked_long.empty();
  }
  template <class T>
  auto next(live::FairQueue<T>& queue) {
    const std::lock_guard lock(mutex);
    return queue.pop();
  }
  /// Queues it, and wakes the loop if it sleeps for want of such.
  template <class T>
  void add(live::FairQueue<T>& queue, uid_t user, T value) {
    const std::lock_guard lock(mutex);
    const bool was_idle = asked.empty() && asked_long.empty();
    queue.push(user, std::move(value));
    if (was_idle) asio::post(io, [] {});
  }
};

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::post(Task task) {
  asio::post(state_->io, [this, task = std::move(task)] {
    begin_turn();
    task();
  });
}

void Loop::ask(uid_t user, Task task) { state_->add(state_->asked, user, std::move(task)); }

void Loop::ask_long(uid_t user, Slices slices) {
  state_->add(state_->asked_long, user, std::move(slices));
}

void Loop::stop() {
  post([this] { state_->stopped = true; });
}

bool Loop::find_work_busily() {
  const auto until = std::chrono::steady_clock::now() + std::exchange(linger_, Duration(0));
  while (std::chrono::steady_clock::now() < until) {
    if (state_->io.poll_one() > 0) return true;
  }
  return false;
}

void Loop::wait_for_work() {
  if (state_->is_asked()) return;
  if (!find_work_busily()) state_->io.run_one();
}

void Loop::run_ready() {
  const auto ends = Clock::now() + kPart;
  while (state_->io.poll_one() > 0 && Clock::now() < ends) {
  }
}

void Loop::answer_users() {
  const auto ends = Clock::now() + kPart;
  while (auto next = state_->next(state_->asked)) {
    next->second();
    if (Clock::now() >= ends) return;
  }
}

void Loop::run_slices() {
  slice_ends_ = Clock::now() + kPart;
  while (auto next = state_->next(state_->asked_long)) {
    if (next->second()) {
      const std::lock_guard lock(state_->mutex);
      state_->asked_long.push_again(next->first, std::move(next->second));
    }
    if (!has_time()) return;
  }
}

Loop::Moment Loop::this_moment() {
  timespec work{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &work);
  return {.time = Clock::now(), .work = Duration(work.tv_sec * 1'000'000 + work.tv_nsec / 1'000)};
}

/// By what is done first: the wait for it is part of the same call.
void Loop::begin_turn() {
  if (!turn_began_) turn_began_ = this_moment();
}

void Loop::end_turn() {
  const Moment began = *std::exchange(turn_began_, std::nullopt);
  const Moment now = this_moment();
  const Duration work = now.work - began.work;
  const auto all = std::chrono::duration_cast<std::chrono::microseconds>(now.time - began.time);
  turns_.work = std::max(turns_.work, work);
  turns_.blocked = std::max(turns_.blocked, Duration(all.count()) - work);
  if (work > kLongTurn) ++turns_.long_ones;
}

void Loop::run(const Task& after) {
  while (!state_->stopped) {
    wait_for_work();
    begin_turn();
    run_ready();
    answer_users();
    run_slices();
    after();
    end_turn();
  }
}

// A handler holds its state: the one that is queued when a watch or an alarm goes must find it.

struct Loop::Watch::State : std::enable_shared_from_this<State> {
  State(Loop& its_loop, int descriptor, Task task)
      : loop(its_loop), stream(its_loop.state_->io, descriptor), readable(std::move(task)) {}

  void wait() {
    stream.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (error || self->over) return;
                        // The reactor may tell of what became ready before in its place.
                        pollfd one{
                            .fd = self->stream.native_handle(), .events = POLLIN, .revents = 0};
                        if (poll(&one, 1, 0) == 0) return self->wait();
                        self->loop.begin_turn();
                        self->readable();
                        if (!self->over) self->wait();
                      });
  }

  Loop& loop;
  asio::posix::stream_descriptor stream;
  Task readable;
  bool over = false;
};

Loop::Watch::Watch(Loop& loop, int descriptor, Task readable)
    : state_(std::make_shared<State>(loop, descriptor, std::move(readable))) {
  state_->wait();
}

Loop::Watch::~Watch() {
  state_->over = true;
  state_->stream.release();
}

struct Loop::Alarm::State : std::enable_shared_from_this<State> {
  State(Loop& its_loop, Task its_task)
      : loop(its_loop), timer(its_loop.state_->io), task(std::move(its_task)) {}

  Loop& loop;
  asio::steady_timer timer;
  Task task;
  std::uint64_t number = 0;  ///< Of the last setting: an expiry already queued must not count.
};

Loop::Alarm::Alarm(Loop& loop, Task task)
    : state_(std::make_shared<State>(loop, std::move(task))) {}

Loop::Alarm::~Alarm() { clear(); }

void Loop::Alarm::set(Duration from_now) {
  const std::uint64_t number = ++state_->number;
  state_->timer.expires_after(from_now);
  state_->timer.async_wait([state = state_, number](const boost::system::error_code& error) {
    if (error || state->number != number) return;
    state->loop.begin_turn();
    state->task();
  });
}

void Loop::Alarm::clear() {
  ++state_->number;
  state_->timer.cancel();
}

}  // namespace berth::daemon
