#include "http/stream.hpp"

#include <algorithm>
#include <utility>

#include "http/connection.hpp"

namespace berth::http {

StreamState::StreamState(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

bool StreamState::write(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Open) return false;
  if (bytes.size() > connection_->loop().limits.backlog - queued_) {
    forget();
    connection_->loop().post([connection = connection_] { connection->close(); });
    return false;
  }
  queued_ += bytes.size();
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_.append(bytes);
  }
  announce();
  return true;
}

void StreamState::close() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Open) return;
  state_ = State::Closed;
  is_announced_ = false;  // what was announced may wait for the peer; the end starts its clock
  announce();
}

bool StreamState::is_open() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::Open;
}

std::size_t StreamState::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

std::string StreamState::take() {
  const std::lock_guard lock(mutex_);
  is_announced_ = false;
  return std::exchange(pending_, {});
}

void StreamState::taken(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  queued_ -= std::min(queued_, bytes);  // none are counted once the peer is gone
}

bool StreamState::is_finished() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::Closed && pending_.empty();
}

void StreamState::end() {
  std::shared_ptr<Connection> connection;  // goes after the lock
  const std::lock_guard lock(mutex_);
  connection = std::move(connection_);
  forget();
}

void StreamState::forget() {
  state_ = State::Gone;
  pending_ = {};
  queued_ = 0;
}

void StreamState::announce() {
  if (std::exchange(is_announced_, true)) return;
  connection_->loop().post([connection = connection_] { connection->advance(); });
}

std::shared_ptr<Stream> handle_of(std::shared_ptr<StreamState> state) {
  Stream* const stream = state.get();
  return {stream, [kept = std::move(state)](Stream*) { kept->close(); }};
}

}  // namespace berth::http
