// One connection of the server: reads a request, waits for its answer, writes it, reads the next.
//
// Lives on the loop's thread; other threads reach it by Loop::post.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/loop.hpp"
#include "http/outgoing.hpp"
#include "http/parser.hpp"
#include "http/socket.hpp"
#include "http/stream.hpp"

namespace berth::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Loop> loop, Descriptor socket);

  /// Reads the first request. Requires: it has entered the loop.
  void start();
  /// Its place's time is over.
  void expire();
  void close();

  // The answer to the request the handler was given; nothing happens if the peer has gone since.

  void answer(Response response);
  void begin_stream(std::shared_ptr<StreamState> stream, const std::string& content_type);
  /// Its stream has news: bytes, or its end.
  void advance();

  Loop& loop() const { return *loop_; }
  uid_t user() const { return peer_.user; }
  Place place;

 private:
  enum class Phase { Reading, Answering, Writing, Streaming, Draining, Closed };
  /// What a step of the connection comes to.
  enum class Step { Again, Wait };

  Step step();
  Step read();
  Step receive();
  Step take(std::string_view bytes);
  Step dispatch();
  Step write();
  Step stop_at(Outgoing::Sent sent, std::size_t before);
  Step stream();
  Step finish();
  Step drain();

  Step wait_readable();
  Step wait_writable();
  /// Notices that the peer has gone, while nothing is read or written.
  Step watch();
  void refuse(const Fault& fault);
  /// Of a user with more here than the limit.
  Fault too_much() const;
  void let_go() { loop_->let_go(user(), std::exchange(held_, 0)); }
  bool is_last() const { return keep_alive_ == KeepAlive::No; }

  const std::shared_ptr<Loop> loop_;  // outlives the descriptor, which is registered with it
  boost::asio::posix::stream_descriptor socket_;
  const Peer peer_;
  Phase phase_ = Phase::Reading;
  RequestParser parser_;
  std::string input_;  ///< Received and not yet used.
  Outgoing output_;
  std::shared_ptr<StreamState> stream_;
  std::size_t in_flight_ = 0;  ///< Of the stream: taken from it and not yet sent.
  std::size_t drained_ = 0;
  std::size_t held_ = 0;  ///< Bytes of the request that is read or answered, or of the answer.
  KeepAlive keep_alive_ = KeepAlive::Yes;
  Method method_ = Method::Other;
  bool is_http10_ = false;
  bool is_readable_ = false;
  bool has_unparsed_ = false;  ///< `input_` may hold a request that came with the last one.
  bool is_advancing_ = false;
  bool is_waiting_to_read_ = false;
  bool is_waiting_to_write_ = false;
  bool is_watching_ = false;
};

}  // namespace berth::http
