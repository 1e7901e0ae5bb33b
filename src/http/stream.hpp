// A stream between the threads that write it and the connection that sends it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "http/server.hpp"

namespace berth::http {

class Connection;
class Loop;

class StreamState final : public Stream, public std::enable_shared_from_this<StreamState> {
 public:
  explicit StreamState(std::shared_ptr<Connection> connection);

  // From any thread.

  bool write(std::string bytes) override;
  void close() override;
  bool is_open() const override;
  std::size_t queued() const override;

  // Called by the connection, on the loop's thread; end() also by one that could not begin.

  /// What has been written since the last time.
  std::string take();
  /// What take() gave has left.
  void taken(std::size_t bytes);
  /// True once closed and nothing is left to take.
  bool is_finished() const;
  /// The peer is gone: nothing is kept, nothing more is taken.
  void end();

 private:
  enum class State { Open, Closed, Gone };

  /// Has the connection look at it, once for all that is written meanwhile.
  void announce();
  void forget();

  mutable std::mutex mutex_;
  std::shared_ptr<Connection> connection_;  ///< Until the end: it points here as well.
  std::string pending_;
  std::size_t queued_ = 0;  ///< `pending_` and what was taken and has not left.
  State state_ = State::Open;
  bool is_announced_ = false;
};

/// The handle a handler gets; dropping it closes the stream.
std::shared_ptr<Stream> handle_of(std::shared_ptr<StreamState> state);

}  // namespace berth::http
