// One HTTP request whose answer is read as it comes, beside other things in one poll loop.
//
// http::Client waits for its answers; `berth run` must go on passing a job's output meanwhile.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "http/parser.hpp"
#include "http/socket.hpp"

namespace berth::cli {

class PolledRequest {
 public:
  enum class Progress { Open, Ended, Lost };
  using Piece = http::ResponseParser::Piece;

  struct Message {
    std::string_view method;
    std::string target;
    std::string body;
  };

  /// Errors: NotFound if no server listens at `socket`; Io if it may not be asked, or not now.
  static Expected<PolledRequest> open(const std::string& socket, const Message& message);

  pollfd interest() const;
  /// Sends and reads what is possible; gives the body to `piece`. Lost: the peer went away before
  /// the end, or does not speak HTTP.
  Progress advance(const Piece& piece);
  int status() const { return parser_->status(); }  ///< 0 until the answer has begun.

 private:
  PolledRequest(Descriptor socket, std::string unsent);
  bool flush();

  Descriptor socket_;
  std::string unsent_;
  std::string unread_;
  std::unique_ptr<http::ResponseParser> parser_;
};

}  // namespace berth::cli
