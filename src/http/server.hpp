// HTTP/1.1 on a unix socket: the user is known from the socket, not from the request.
//
// One thread serves all connections; the handler is called on it and must not block: it answers at
// once or keeps the Exchange and answers from any thread later.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"

namespace berth::http {

/// Who is at the other end, as the kernel knew when they connected.
struct Peer {
  pid_t pid = 0;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  ///< Supplementary ones.
};

struct Request {
  std::string method;
  /// Decoded, without the query, and not normalised: `..` and `//` stay. Never holds a zero byte.
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;  ///< Decoded, in order; `+` is a space.
  std::string content_type;
  std::string body;
  Peer peer;

  /// The first value of a query key; nothing if it is not there.
  std::optional<std::string> parameter(std::string_view key) const;
};

struct Response {
  int status = 200;  ///< 204 and 304 have no body: one that is given is not sent.
  std::string body;
  std::string content_type = "application/json";
  std::string allow = {};  ///< Of 405: the methods that there are.
};

/// An answer that goes on: server-sent events, a followed log. Chunked, or for HTTP/1.0 until the
/// connection closes. Dropping it closes it. When the server goes it is cut off without an end, so
/// that the peer can tell.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Queues bytes; from any thread, never blocks. Returns: false if the peer is gone, or was
  /// dropped because more than Limits::backlog was waiting for it.
  virtual bool write(std::string bytes) = 0;
  /// The end of the answer, after what is queued.
  virtual void close() = 0;
  virtual bool is_open() const = 0;
  /// Bytes queued and not yet taken by the peer; a reader of files waits until this falls.
  virtual std::size_t queued() const = 0;
};

/// One request being answered, once: by respond() or by stream(); a second answer goes nowhere, its
/// stream is not open. From any thread, also after the server has gone. An Exchange dropped without
/// an answer answers 500. HEAD is answered like GET; the body is then left out.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  /// Moves the body out of request(), so that the handler need not hold it until the answer. Before
  /// the exchange is given to another thread.
  virtual std::string take_body() = 0;
  virtual void respond(Response response) = 0;
  virtual std::shared_ptr<Stream> stream(const std::string& content_type) = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

struct Limits {
  std::size_t header = 16 * 1024;
  std::size_t body = 8 * 1024 * 1024;
  std::size_t backlog = 1024 * 1024;  ///< Of one stream; a longer single write() drops it, too.
  std::size_t connections = 4096;     ///< Then the idlest of the user with most is closed.
  std::size_t per_user = 1024;        ///< Connections of one user, so that no user takes all.
  /// Bytes of one user's requests without an answer, and of answers that were not taken.
  std::size_t unanswered = 256 * 1024 * 1024;
  /// A connection that sends nothing, or takes nothing of an answer. Streams and requests that the
  /// handler has are not idle.
  Duration idle = seconds(120);
  Duration request = seconds(30);  ///< From the first byte of a request to its last.
};

struct ServerOptions {
  std::string path;
  mode_t mode = 0600;
  Limits limits;
};

class Server {
 public:
  /// Stops, joins its thread, removes the socket file if it is still ours. Not from the handler.
  virtual ~Server() = default;

  /// Listens and serves until destroyed. A socket file without a listener is replaced, one with a
  /// listener is not, and a file that is not a socket stays. The path may be longer than a socket
  /// address holds, its last part not. Errors: Conflict if a server answers there; Io naming path
  /// and reason.
  static Expected<std::unique_ptr<Server>> open(const ServerOptions& options, Handler handler);
};

/// Answers that the server gives by itself: 400 for what is not an HTTP/1.1 request (no Host,
/// chunked on HTTP/1.0), 408, 413, 431, 503 above Limits::connections, per_user and unanswered;
/// each with a JSON body as error_body.
std::string error_body(std::string_view message);

}  // namespace berth::http
