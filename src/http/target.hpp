// What a request line asks for, and why the server itself may refuse.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "http/server.hpp"

namespace berth::http {

/// A request that the server refuses by itself: the status and the message to the peer.
struct Fault {
  int status;
  std::string message;
};

/// Fills path and query from a request target such as `/v1/jobs?user=ann%20b`. In the query `+` is
/// a space, as browsers send it. Errors: 400 for what does not begin with `/`, for a `%` without
/// two hexadecimal digits, and for a zero byte, which would cut the text where C reads it.
std::expected<void, Fault> read_target(std::string_view target, Request& request);

}  // namespace berth::http
