// What is being written to a socket: three pieces, sent without being copied together.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "http/parser.hpp"
#include "http/server.hpp"

namespace berth::http {

enum class Method { Head, Other };

/// How an answer ends, as its header says.
enum class Framing { Length, Chunked, UntilClosed };

/// The status line and the fields. `length` is used with Framing::Length only.
std::string header_of(int status, const std::string& content_type, KeepAlive keep_alive,
                      Framing framing, std::size_t length = 0);

class Outgoing {
 public:
  enum class Sent { All, Blocked, Failed };

  bool is_empty() const { return sent_ == size(); }
  /// Requires: is_empty().
  void set(std::string head, std::string body = {}, std::string tail = {});
  /// Gives the socket what it takes, without waiting.
  Sent send_to(int socket);
  /// Bytes sent since set().
  std::size_t sent() const { return sent_; }
  void clear() { set({}); }

 private:
  std::size_t size() const { return pieces_[0].size() + pieces_[1].size() + pieces_[2].size(); }

  std::array<std::string, 3> pieces_;
  std::size_t sent_ = 0;
};

}  // namespace berth::http
