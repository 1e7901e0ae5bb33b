#include "cli/ask/polled_request.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/ask/for_later.hpp"

namespace berth::cli {

namespace {

std::string wire_text(const PolledRequest::Message& message) {
  std::string text(message.method);
  text += " " + message.target + " HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n";
  if (message.method == "POST") {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(message.body.size()) +
        "\r\n";
  }
  return text + "\r\n" + message.body;
}

}  // namespace

PolledRequest::PolledRequest(Descriptor socket, std::string unsent)
    : socket_(std::move(socket)),
      unsent_(std::move(unsent)),
      parser_(std::make_unique<http::ResponseParser>(http::ResponseParser::Body::AsAnnounced)) {}

Expected<PolledRequest> PolledRequest::open(const std::string& socket, const Message& message) {
  auto connected = http::connect_to(socket, http::Blocking::No);
  if (!connected) {
    const int error = connected.error();
    const bool nobody = error == ENOENT || error == ECONNREFUSED;
    return fail(nobody ? ErrorCode::NotFound : ErrorCode::Io, socket + ": " + std::strerror(error));
  }
  return PolledRequest(std::move(*connected), wire_text(message));
}

pollfd PolledRequest::interest() const {
  const int wishes = unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
  return {.fd = socket_.number(), .events = static_cast<short>(wishes), .revents = 0};
}

bool PolledRequest::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent =
        send(socket_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return is_for_later(errno);
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

PolledRequest::Progress PolledRequest::advance(const Piece& piece) {
  // A daemon may refuse and close before it has read everything: its answer is read all the same.
  const bool sent = flush();
  std::array<char, 16384> bytes;
  const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && is_for_later(errno)) return sent ? Progress::Open : Progress::Lost;
  if (got <= 0) return parser_->end() ? Progress::Ended : Progress::Lost;
  unread_.append(bytes.data(), static_cast<std::size_t>(got));
  while (!unread_.empty() && !parser_->is_done()) {
    const auto used = parser_->feed(unread_, piece);
    if (!used) return Progress::Lost;
    unread_.erase(0, *used);
    if (*used == 0) break;
  }
  return parser_->is_done() ? Progress::Ended : Progress::Open;
}

}  // namespace berth::cli
