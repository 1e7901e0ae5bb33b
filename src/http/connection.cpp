#include "http/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "core/text/text.hpp"
#include "http/exchange.hpp"

namespace berth::http {

namespace {

using Ready = boost::asio::posix::stream_descriptor;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr int kStepsAtOnce = 32;
constexpr std::size_t kIdleInput = 8 * 1024;  // what a waiting connection may keep allocated

std::string chunk_head(std::size_t size) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16);
  return std::string(digits.data(), end.ptr) + "\r\n";
}

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, Descriptor socket)
    : loop_(std::move(loop)),
      socket_(loop_->io),
      peer_(peer_of(socket.number())),
      parser_(loop_->limits) {
  boost::system::error_code error;
  const bool is_watched = !socket_.assign(socket.number(), error);
  if (is_watched) socket.release();
}

void Connection::start() {
  if (!socket_.is_open()) {  // the kernel has no room to watch it
    close();
    return;
  }
  loop_->wait(place, Patience::Idle);
  is_readable_ = true;  // mostly the request is there by now
  advance();
}

void Connection::advance() {
  if (is_advancing_) return;  // an answer given inside the handler: the loop below goes on with it
  const auto self = shared_from_this();  // a step may close it, and drop the last reference
  is_advancing_ = true;
  int left = kStepsAtOnce;
  while (left > 0 && step() == Step::Again) --left;
  is_advancing_ = false;
  // A peer that always has more, or always takes more, must leave the others their turn.
  if (left == 0) loop_->post([self] { self->advance(); });
}

Connection::Step Connection::step() {
  switch (phase_) {
    case Phase::Reading:
      return read();
    case Phase::Answering:
      return watch();
    case Phase::Writing:
      return write();
    case Phase::Streaming:
      return stream();
    case Phase::Draining:
      return drain();
    case Phase::Closed:
      return Step::Wait;
  }
  return Step::Wait;
}

void Connection::close() {
  if (std::exchange(phase_, Phase::Closed) == Phase::Closed) return;
  const auto self = shared_from_this();  // the loop may have held the last reference
  if (stream_) std::exchange(stream_, nullptr)->end();
  output_.clear();
  input_ = {};
  let_go();
  loop_->leave(place, user());
  const Descriptor closed(socket_.release());  // and what waits for it ends
}

void Connection::expire() {
  const bool is_slow = phase_ == Phase::Reading && place.patience == Patience::Request;
  if (!is_slow) {
    close();
    return;
  }
  const std::string limit = seconds_text(loop_->limits.request);
  refuse({408, "the request was not whole after " + limit + " seconds"});
  advance();
}

// ---- Reading ---------------------------------------------------------------------------------

Connection::Step Connection::read() {
  if (std::exchange(has_unparsed_, false)) return take(std::exchange(input_, {}));
  return std::exchange(is_readable_, false) ? receive() : wait_readable();
}

Connection::Step Connection::receive() {
  auto& scratch = loop_->scratch;
  const ssize_t got = recv(socket_.native_handle(), scratch.data(), scratch.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return wait_readable();
  if (got <= 0) {
    close();
    return Step::Wait;
  }
  const std::string_view bytes(scratch.data(), static_cast<std::size_t>(got));
  if (input_.empty()) return take(bytes);
  input_.append(bytes);
  return take(std::exchange(input_, {}));
}

Connection::Step Connection::take(std::string_view bytes) {
  const auto used = parser_.feed(bytes);
  if (!used) {
    refuse(used.error());
    return Step::Again;
  }
  input_ = bytes.substr(*used);
  held_ += *used;
  if (!loop_->hold(user(), *used)) {
    refuse(too_much());
    return Step::Again;
  }
  if (parser_.is_done()) return dispatch();
  if (place.patience == Patience::Idle) loop_->wait(place, Patience::Request);
  if (parser_.take_continue()) {
    // The peer has sent a header and waits, so there is room for it; if not, it does without.
    (void)send(socket_.native_handle(), kContinue.data(), kContinue.size(),
               MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  return Step::Again;
}

Connection::Step Connection::dispatch() {
  keep_alive_ = parser_.keep_alive();
  is_http10_ = parser_.is_http10();
  Request request = parser_.take();
  request.peer = peer_;
  method_ = request.method == "HEAD" ? Method::Head : Method::Other;
  phase_ = Phase::Answering;
  loop_->wait(place, Patience::Endless);
  loop_->handler(make_exchange(shared_from_this(), std::move(request)));
  return Step::Again;
}

Fault Connection::too_much() const {
  return {503, "uid " + std::to_string(user()) + " has more than " +
                   std::to_string(loop_->limits.unanswered) +
                   " bytes of requests and of answers that it does not take here, which is the "
                   "limit for one user; try again"};
}

void Connection::refuse(const Fault& fault) {
  let_go();
  keep_alive_ = KeepAlive::No;
  std::string body = error_body(fault.message);
  std::string head =
      header_of(fault.status, "application/json", keep_alive_, Framing::Length, body.size());
  output_.set(std::move(head), std::move(body));
  phase_ = Phase::Draining;
  loop_->wait(place, Patience::Request);
}

/// The peer may still be sending what was refused. If the socket closed under it, it would see that
/// and not the answer, so the rest is read, up to what a request may have.
Connection::Step Connection::drain() {
  if (!output_.is_empty()) {
    const auto sent = output_.send_to(socket_.native_handle());
    if (sent == Outgoing::Sent::Blocked) return wait_writable();
    shutdown(socket_.native_handle(), SHUT_WR);
    is_readable_ = true;
  }
  if (!std::exchange(is_readable_, false)) return wait_readable();
  auto& scratch = loop_->scratch;
  const ssize_t got = recv(socket_.native_handle(), scratch.data(), scratch.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return wait_readable();
  drained_ += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  if (got > 0 && drained_ <= loop_->limits.body) return wait_readable();
  close();
  return Step::Wait;
}

// ---- Answering -------------------------------------------------------------------------------

void Connection::answer(Response response) {
  if (phase_ != Phase::Answering) return;
  let_go();
  std::string head = header_of(response.status, response.content_type, keep_alive_, Framing::Length,
                               response.body.size());
  if (!response.allow.empty()) head.insert(head.size() - 2, "Allow: " + response.allow + "\r\n");
  const bool is_bare = method_ == Method::Head || response.status == 204 || response.status == 304;
  held_ = is_bare ? 0 : response.body.size();
  if (!loop_->hold(user(), held_)) {
    refuse(too_much());
    return advance();
  }
  output_.set(std::move(head), is_bare ? std::string() : std::move(response.body));
  phase_ = Phase::Writing;
  advance();
}

void Connection::begin_stream(std::shared_ptr<StreamState> stream,
                              const std::string& content_type) {
  if (phase_ != Phase::Answering) {
    stream->end();
    return;
  }
  let_go();
  if (is_http10_) keep_alive_ = KeepAlive::No;
  const Framing framing = is_http10_ ? Framing::UntilClosed : Framing::Chunked;
  output_.set(header_of(200, content_type, keep_alive_, framing));
  if (method_ == Method::Head) {
    stream->end();
    phase_ = Phase::Writing;
  } else {
    stream_ = std::move(stream);
    phase_ = Phase::Streaming;
  }
  advance();
}

Connection::Step Connection::write() {
  const std::size_t before = output_.sent();
  const auto sent = output_.send_to(socket_.native_handle());
  return sent == Outgoing::Sent::All ? finish() : stop_at(sent, before);
}

/// Not all was sent. A stream that goes on may wait as long as its backlog allows; for the end of
/// an answer a peer has to go on taking.
Connection::Step Connection::stop_at(Outgoing::Sent sent, std::size_t before) {
  if (sent == Outgoing::Sent::Failed) {
    close();
    return Step::Wait;
  }
  const bool goes_on = phase_ == Phase::Streaming && stream_->is_open();
  const bool has_moved = output_.sent() != before || place.patience == Patience::Endless;
  if (!goes_on && has_moved) loop_->wait(place, Patience::Idle);
  return wait_writable();
}

Connection::Step Connection::stream() {
  const std::size_t before = output_.sent();
  const auto sent = output_.send_to(socket_.native_handle());
  if (sent != Outgoing::Sent::All) return stop_at(sent, before);
  stream_->taken(std::exchange(in_flight_, 0));
  std::string bytes = stream_->take();
  if (!bytes.empty()) {
    in_flight_ = bytes.size();
    if (is_http10_) {
      output_.set({}, std::move(bytes));
    } else {
      output_.set(chunk_head(in_flight_), std::move(bytes), "\r\n");
    }
    return Step::Again;
  }
  if (!stream_->is_finished()) {
    output_.clear();
    return watch();
  }
  std::exchange(stream_, nullptr)->end();
  output_.set(is_http10_ ? std::string() : std::string(kLastChunk));
  phase_ = Phase::Writing;
  return Step::Again;
}

Connection::Step Connection::finish() {
  output_.clear();
  let_go();
  if (is_last()) {
    close();
    return Step::Wait;
  }
  phase_ = Phase::Reading;
  has_unparsed_ = !input_.empty();
  loop_->wait(place, Patience::Idle);
  return Step::Again;
}

// ---- Waiting ---------------------------------------------------------------------------------

Connection::Step Connection::wait_readable() {
  if (input_.empty() && input_.capacity() > kIdleInput) input_ = {};
  if (std::exchange(is_waiting_to_read_, true)) return Step::Wait;
  socket_.async_wait(Ready::wait_read, [self = shared_from_this()](const auto& error) {
    self->is_waiting_to_read_ = false;
    if (error) return;
    self->is_readable_ = true;
    self->advance();
  });
  return Step::Wait;
}

Connection::Step Connection::wait_writable() {
  if (std::exchange(is_waiting_to_write_, true)) return Step::Wait;
  socket_.async_wait(Ready::wait_write, [self = shared_from_this()](const auto& error) {
    self->is_waiting_to_write_ = false;
    if (!error) self->advance();
  });
  return Step::Wait;
}

/// A peer that closed only its own direction still waits for the answer; one that closed both gives
/// a hang-up, which is what this waits for. It leaves alone what the peer has sent meanwhile. The
/// reactor may tell a connection of the hang-up of another that has just gone, so it is looked at.
Connection::Step Connection::watch() {
  if (std::exchange(is_watching_, true)) return Step::Wait;
  socket_.async_wait(Ready::wait_error, [self = shared_from_this()](const auto& error) {
    self->is_watching_ = false;
    const bool is_reading = self->phase_ == Phase::Reading || self->phase_ == Phase::Draining;
    if (error || is_reading) return;  // reading finds the end by itself
    pollfd peer{.fd = self->socket_.native_handle(), .events = 0, .revents = 0};
    if (poll(&peer, 1, 0) > 0) return self->close();
    self->watch();
  });
  return Step::Wait;
}

}  // namespace berth::http
