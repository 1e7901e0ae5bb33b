#include "http/server.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "http/connection.hpp"
#include "http/loop.hpp"
#include "http/socket.hpp"

namespace berth::http {

namespace {

constexpr int kAcceptsAtOnce = 64;
constexpr std::chrono::seconds kLookForFile{1};

/// Takes new connections in. Lives on the loop's thread.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<Loop> loop, Listener listener)
      : loop_(std::move(loop)),
        listener_(std::move(listener)),
        socket_(loop_->io, listener_.release()),
        pause_(loop_->io),
        look_(loop_->io) {}

  void start() {
    wait();
    look_for_file();
  }

  void close() {
    is_closed_ = true;
    listener_.remove_file();
    const Descriptor closed(socket_.release());
    pause_.cancel();
    look_.cancel();
  }

 private:
  // What had become ready before close() is still called, without an error: it must not begin anew.

  void wait() {
    socket_.async_wait(socket_.wait_read, [self = shared_from_this()](const auto& error) {
      if (!error && !self->is_closed_) self->accept_some();
    });
  }

  /// Nobody finds a server whose file was deleted, so it listens at a new one.
  void look_for_file() {
    look_.expires_after(kLookForFile);
    look_.async_wait([self = shared_from_this()](const auto& error) {
      if (error || self->is_closed_) return;
      if (self->listener_.is_gone()) self->listen_anew();
      self->look_for_file();
    });
  }

  /// Fails if the folder is gone too, or another server begins there; then it is tried again.
  void listen_anew() {
    auto listener = listener_.again();
    if (!listener) return;
    take_waiting();  // clients that had connected to the deleted file
    const Descriptor closed(socket_.release());
    pause_.cancel();
    listener_ = std::move(*listener);
    Descriptor socket(listener_.release());
    boost::system::error_code unwatched;
    if (socket_.assign(socket.number(), unwatched)) return listener_.remove_file();
    socket.release();
    wait();
  }

  void accept_some() { take_waiting() ? wait() : pause(); }

  /// Returns: false if the machine has no descriptors or memory for more.
  bool take_waiting() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      Descriptor socket(
          accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.is_open()) {
        welcome(std::move(socket));
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return errno == EAGAIN;
      }
    }
    return true;
  }

  /// Trying again at once would only spin.
  void pause() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([self = shared_from_this()](const auto& error) {
      if (!error && !self->is_closed_) self->accept_some();
    });
  }

  void welcome(Descriptor socket) {
    const auto why_full = loop_->make_room(peer_of(socket.number()).user);
    if (!why_full) return loop_->enter(std::make_shared<Connection>(loop_, std::move(socket)));
    std::string body = error_body(*why_full);
    std::string head =
        header_of(503, "application/json", KeepAlive::No, Framing::Length, body.size());
    Outgoing answer;
    answer.set(std::move(head), std::move(body));
    (void)answer.send_to(socket.number());  // a new socket has room for it
  }

  const std::shared_ptr<Loop> loop_;
  Listener listener_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer look_;
  bool is_closed_ = false;
};

/// The process's signals are for its other threads: one started meanwhile gets none.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

class UnixServer final : public Server {
 public:
  UnixServer(Listener listener, const Limits& limits, Handler handler)
      : loop_(std::make_shared<Loop>(limits, std::move(handler))),
        acceptor_(std::make_shared<Acceptor>(loop_, std::move(listener))) {
    const SignalsBlocked blocked;
    thread_ = std::thread([loop = loop_] { loop->run(); });
    loop_->post([acceptor = acceptor_] { acceptor->start(); });
  }

  ~UnixServer() override {
    loop_->post([acceptor = std::move(acceptor_), loop = loop_] {
      acceptor->close();
      loop->close();
    });
    thread_.join();
  }

 private:
  const std::shared_ptr<Loop> loop_;
  std::shared_ptr<Acceptor> acceptor_;
  std::thread thread_;
};

}  // namespace

Expected<std::unique_ptr<Server>> Server::open(const ServerOptions& options, Handler handler) {
  auto listener = Listener::open(options.path, options.mode);
  if (!listener) return std::unexpected(std::move(listener.error()));
  try {
    return std::make_unique<UnixServer>(std::move(*listener), options.limits, std::move(handler));
  } catch (const std::exception& error) {  // no descriptor for an event queue, no thread
    return fail(ErrorCode::Io, options.path + ": " + error.what());
  }
}

std::string error_body(std::string_view message) {
  const nlohmann::json body = {{"error", message}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace berth::http
