#include "http/client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/text/text.hpp"
#include "http/outgoing.hpp"
#include "http/parser.hpp"
#include "http/socket.hpp"

namespace berth::http {

namespace {

using Sink = std::function<bool(std::string_view)>;

constexpr std::size_t kReadAtOnce = 32 * 1024;

std::string head_of(std::string_view method, const std::string& target, std::size_t body) {
  std::string head;
  head.reserve(128 + target.size());
  head.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
  if (body > 0) head.append("Content-Type: application/json\r\n");
  const bool says_length = body > 0 || method == "POST" || method == "PUT" || method == "PATCH";
  if (says_length) head.append("Content-Length: ").append(std::to_string(body)).append("\r\n");
  head.append("\r\n");
  return head;
}

}  // namespace

std::string silence(Duration patience) {
  return "berthd is there and has not answered for " + seconds_text(patience) + " seconds";
}

struct Client::State {
  std::string path;
  Duration patience;
  Descriptor socket;

  std::unexpected<Error> gone(const std::string& why) {
    socket.close();
    return fail(ErrorCode::Io, path + ": " + why);
  }

  Expected<Response> exchange(std::string_view method, Outgoing request, const Sink& sink);
  /// Waits for room, not for an answer. A server that refuses a request may close before its end:
  /// that is no error here, as its answer says why.
  Expected<void> send(Outgoing& request);
  /// As long as `is_stream` does not hold, patience ends.
  Expected<void> receive(ResponseParser& parser, const ResponseParser::Piece& piece,
                         const std::function<bool()>& is_stream);
  /// Until the socket is ready for `events`. Errors: Io when patience ends.
  Expected<void> wait_for(short events) const;
};

Expected<void> Client::State::wait_for(short events) const {
  pollfd waiting = {.fd = socket.number(), .events = events, .revents = 0};
  const auto most = static_cast<int>(micros(patience) / 1000);
  int ready = -1;
  while (ready < 0) {
    ready = poll(&waiting, 1, most);
    if (ready < 0 && errno != EINTR) {
      return fail(ErrorCode::Io, std::generic_category().message(errno));
    }
  }
  return ready > 0 ? Expected<void>() : fail(ErrorCode::Io, silence(patience));
}

Expected<void> Client::State::send(Outgoing& request) {
  while (request.send_to(socket.number()) == Outgoing::Sent::Blocked) {
    if (auto ready = wait_for(POLLOUT); !ready) return ready;
  }
  return {};
}

/// Ends with the answer, or when `piece` has closed the socket.
Expected<void> Client::State::receive(ResponseParser& parser, const ResponseParser::Piece& piece,
                                      const std::function<bool()>& is_stream) {
  std::array<char, kReadAtOnce> bytes;
  std::string left;
  while (!parser.is_done() && socket.is_open()) {
    if (!is_stream()) {
      if (auto ready = wait_for(POLLIN); !ready) return ready;
    }
    const ssize_t got = recv(socket.number(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::Io, std::generic_category().message(errno));
    if (got == 0) {
      socket.close();
      return parser.end();
    }
    left.append(bytes.data(), static_cast<std::size_t>(got));
    const auto used = parser.feed(left, piece);
    if (!used) return std::unexpected(used.error());
    left.erase(0, *used);
  }
  return {};
}

Expected<Response> Client::State::exchange(std::string_view method, Outgoing request,
                                           const Sink& sink) {
  if (!socket.is_open()) return gone("the connection is closed");
  if (auto sent = send(request); !sent) return gone(sent.error().message);
  const bool is_head = method == "HEAD";
  ResponseParser parser(is_head ? ResponseParser::Body::None : ResponseParser::Body::AsAnnounced);
  Response response;
  const auto is_stream = [&] { return sink && parser.status() == 200; };
  const auto use = [&](std::string_view bytes) {
    if (!is_stream()) {
      response.body.append(bytes);
    } else if (socket.is_open() && !sink(bytes)) {
      socket.close();
    }
  };
  const auto received = receive(parser, use, is_stream);
  if (!received) return gone(received.error().message);
  const bool goes_on = parser.is_done() && parser.keep_alive() && request.is_empty();
  if (!goes_on) socket.close();
  response.status = parser.status();
  response.content_type = parser.content_type();
  return response;
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Expected<Client> Client::open(const std::string& path, Duration patience) {
  auto socket = connect_to(path, Blocking::Yes, patience);
  if (socket) return Client(std::make_unique<State>(path, patience, std::move(*socket)));
  if (socket.error() == EAGAIN) return fail(ErrorCode::Io, path + ": " + silence(patience));
  const bool nobody = socket.error() == ENOENT || socket.error() == ECONNREFUSED;
  if (nobody) return fail(ErrorCode::NotFound, path + ": no server listens there");
  return fail(ErrorCode::Io, path + ": " + std::generic_category().message(socket.error()));
}

Expected<Response> Client::request(std::string_view method, const std::string& target,
                                   std::string body) {
  Outgoing request;
  std::string head = head_of(method, target, body.size());
  request.set(std::move(head), std::move(body));
  return state_->exchange(method, std::move(request), nullptr);
}

Expected<Response> Client::stream(std::string_view method, const std::string& target,
                                  const std::function<bool(std::string_view)>& piece) {
  Outgoing request;
  request.set(head_of(method, target, 0));
  return state_->exchange(method, std::move(request), piece);
}

int Client::descriptor() const { return state_->socket.number(); }

}  // namespace berth::http
