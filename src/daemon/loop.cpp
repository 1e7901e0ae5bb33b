#include "daemon/loop.hpp"

#include <chrono>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#pragma GCC diagnostic pop

namespace berth::daemon {

namespace asio = boost::asio;

namespace {

constexpr int kAtOnce = 1000;  ///< Then the engine has its turn, whatever else is ready.

}  // namespace

struct Loop::State {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  bool stopped = false;
};

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::post(Task task) { asio::post(state_->io, std::move(task)); }

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

void Loop::run(const Task& after) {
  while (!state_->stopped) {
    if (!find_work_busily()) state_->io.run_one();
    for (int i = 0; i < kAtOnce && state_->io.poll_one() > 0;) ++i;
    after();
  }
}

// A handler holds its state: the one that is queued when a watch or an alarm goes must find it.

struct Loop::Watch::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, int descriptor, Task task)
      : stream(io, descriptor), readable(std::move(task)) {}

  void wait() {
    stream.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (error || self->over) return;
                        self->readable();
                        if (!self->over) self->wait();
                      });
  }

  asio::posix::stream_descriptor stream;
  Task readable;
  bool over = false;
};

Loop::Watch::Watch(Loop& loop, int descriptor, Task readable)
    : state_(std::make_shared<State>(loop.state_->io, descriptor, std::move(readable))) {
  state_->wait();
}

Loop::Watch::~Watch() {
  state_->over = true;
  state_->stream.release();
}

struct Loop::Alarm::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, Task its_task) : timer(io), task(std::move(its_task)) {}

  asio::steady_timer timer;
  Task task;
  std::uint64_t number = 0;  ///< Of the last setting: an expiry already queued must not count.
};

Loop::Alarm::Alarm(Loop& loop, Task task)
    : state_(std::make_shared<State>(loop.state_->io, std::move(task))) {}

Loop::Alarm::~Alarm() { clear(); }

void Loop::Alarm::set(Duration from_now) {
  const std::uint64_t number = ++state_->number;
  state_->timer.expires_after(from_now);
  state_->timer.async_wait([state = state_, number](const boost::system::error_code& error) {
    if (!error && state->number == number) state->task();
  });
}

void Loop::Alarm::clear() {
  ++state_->number;
  state_->timer.cancel();
}

}  // namespace berth::daemon
