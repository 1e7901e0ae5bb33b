// A blocking HTTP/1.1 client on a unix socket, as the command line needs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "http/server.hpp"

namespace berth::http {

/// How long a client waits for a server that is there and says nothing: one that was stopped, or
/// whose disk hangs.
inline constexpr Duration kClientPatience = seconds(30);

/// What is said of such a server.
std::string silence(Duration patience);

class Client {
 public:
  /// Errors: NotFound if no server listens there, Io otherwise; both name the path.
  static Expected<Client> open(const std::string& path, Duration patience = kClientPatience);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// One request on the kept connection. `target` is sent as it is: see escape(). Errors: Io when
  /// the peer goes away, or takes or gives nothing for as long as there is patience.
  Expected<Response> request(std::string_view method, const std::string& target,
                             std::string body = {});

  /// A request whose answer comes in pieces: `piece` is called for each as it comes and returns
  /// false to stop (the connection is then closed). Returns: status, and the body only if the
  /// status is not 200 (then `piece` is never called). Errors: Io when the peer goes away before
  /// the end of the answer, or is silent until its beginning; after that it may take its time.
  Expected<Response> stream(std::string_view method, const std::string& target,
                            const std::function<bool(std::string_view)>& piece);

  /// The socket, to poll beside others; -1 once closed.
  int descriptor() const;

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// `%20` and the like, for path segments and query values.
std::string escape(std::string_view text);

struct ServerEvent {
  std::string name;  ///< "" unless the sender named it.
  std::string data;  ///< Its lines, with a newline between two.
};

/// Server-sent events out of a stream that comes in pieces. Lines end in LF or CRLF.
class EventReader {
 public:
  using Use = std::function<void(const ServerEvent&)>;

  /// Calls `use` for each event that is whole now. Comments are skipped, and so are, as the
  /// standard has it, events without data and fields other than `event` and `data`.
  void add(std::string_view bytes, const Use& use);

 private:
  void end_line(std::string_view line, const Use& use);

  std::string line_;   ///< The beginning of a line whose end has not come.
  ServerEvent event_;  ///< What the lines before it say.
  bool has_data_ = false;
};

}  // namespace berth::http
