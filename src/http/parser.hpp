// Bytes to messages: what comes from a socket, cut anywhere, into requests and answers.
//
// Both readers take bytes and say how many they used; what is left is given again, before what
// comes next. The bytes they keep are bounded by the limits they were made with.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "http/server.hpp"
#include "http/target.hpp"

namespace berth::http {

enum class KeepAlive { No, Yes, AsAsked };  ///< AsAsked: HTTP/1.0, which needs a header.

/// Reads one request after the other. `limits` must outlive it.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  /// Requires: !is_done(). Returns: how many bytes of `bytes` were used. Errors: the Fault to
  /// answer with, after which only destruction is allowed.
  std::expected<std::size_t, Fault> feed(std::string_view bytes);
  bool is_done() const;
  /// True once for a request whose body waits for `100 Continue`.
  bool take_continue();

  // Of a request that is done, or whose header was read before the fault.
  KeepAlive keep_alive() const;
  bool is_http10() const;

  /// Requires: is_done(). The next feed() begins a new one.
  Request take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads one answer; a `100 Continue` before it is skipped.
class ResponseParser {
 public:
  /// An answer to HEAD announces a body that does not come.
  enum class Body { AsAnnounced, None };
  using Piece = std::function<void(std::string_view)>;

  explicit ResponseParser(Body body);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  /// Gives the body to `piece` as it comes. Errors: BadData.
  Expected<std::size_t> feed(std::string_view bytes, const Piece& piece);
  /// The peer has closed. Errors: Io if that was not the end of the answer.
  Expected<void> end();

  bool is_done() const;
  bool keep_alive() const;  ///< Requires: is_done().
  int status() const;       ///< 0 until the header is read.
  const std::string& content_type() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::http
