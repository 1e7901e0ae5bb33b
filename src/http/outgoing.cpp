#include "http/outgoing.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace berth::http {

namespace {

/// Nobody needs to read it, but it is shown by tools.
std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Other";
  }
}

}  // namespace

std::string header_of(int status, const std::string& content_type, KeepAlive keep_alive,
                      Framing framing, std::size_t length) {
  std::string text;
  text.reserve(192);
  text.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason(status));
  if (status != 204 && status != 304) {
    text.append("\r\nContent-Type: ").append(content_type);
    if (framing == Framing::Length) {
      text.append("\r\nContent-Length: ").append(std::to_string(length));
    }
  }
  if (framing == Framing::Chunked) text.append("\r\nTransfer-Encoding: chunked");
  if (keep_alive == KeepAlive::No) text.append("\r\nConnection: close");
  if (keep_alive == KeepAlive::AsAsked) text.append("\r\nConnection: keep-alive");
  text.append("\r\nCache-Control: no-store\r\n\r\n");
  return text;
}

void Outgoing::set(std::string head, std::string body, std::string tail) {
  pieces_ = {std::move(head), std::move(body), std::move(tail)};
  sent_ = 0;
}

Outgoing::Sent Outgoing::send_to(int socket) {
  while (!is_empty()) {
    std::array<iovec, 3> vectors;
    std::size_t count = 0;
    std::size_t before = 0;
    for (std::string& piece : pieces_) {
      const std::size_t skipped = std::min(piece.size(), sent_ - std::min(sent_, before));
      before += piece.size();
      if (skipped == piece.size()) continue;
      vectors[count++] = {piece.data() + skipped, piece.size() - skipped};
    }
    msghdr message = {};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == ENOBUFS) {
      return Sent::Blocked;
    } else if (errno != EINTR) {
      return Sent::Failed;
    }
  }
  return Sent::All;
}

}  // namespace berth::http
