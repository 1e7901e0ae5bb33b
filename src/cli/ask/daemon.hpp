// A connection to berthd: the choice of its socket, and a message for every failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/print/json.hpp"
#include "core/base/error.hpp"
#include "http/client.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// The options of every verb that asks a daemon.
struct CommonOptions {
  std::string socket;
  bool json = false;
};
void add_common(CLI::App& verb, CommonOptions& options);

struct SocketChoice {
  std::string path;
  /// How, for people: `--socket`, `$BERTH_SOCKET`, `yours`, `Slurm's`, `the machine's`.
  std::string found;
};

/// `--socket`, else $BERTH_SOCKET, else berth-slurm's if $BERTH_BACKEND is `slurm`, else the first
/// of http::socket_candidates() that is there, else berth-slurm's on a host of Slurm's, else the
/// last of them.
SocketChoice choose_socket(const CommonOptions& options);

/// The message for a socket without a daemon.
std::string nobody_answers(const std::string& path, uid_t user);

/// The waits between attempts to reach a daemon: 50 ms, doubled up to a second.
class Backoff {
 public:
  std::chrono::milliseconds next();
  void reset() { wait_ = kFirst; }

 private:
  static constexpr std::chrono::milliseconds kFirst{50};
  std::chrono::milliseconds wait_ = kFirst;
};

class Daemon {
 public:
  /// Errors: NotFound with nobody_answers(), Io.
  static Expected<Daemon> open(const std::string& path);
  static Expected<Daemon> open(const CommonOptions& options) {
    return open(choose_socket(options).path);
  }

  /// The answer to a request. Errors: the daemon's own words, with options for the API's keys, as
  /// Conflict (409), InvalidArgument (other 4xx) or Io (5xx); Io when it goes away; BadData for an
  /// answer that is no JSON object. NotFound comes from open() only: a wait for a daemon must not
  /// wait for a missing job.
  Expected<Json> get(const std::string& target) { return ask("GET", target, {}); }
  /// The same before it is read: see answer_of(). Errors: Io.
  Expected<http::Response> fetch(const std::string& target) {
    return client_.request("GET", target);
  }
  Expected<Json> post(const std::string& target, std::string body = {}) {
    return ask("POST", target, std::move(body));
  }

  /// An answer in pieces, as http::Client::stream(). Errors: as get(); Io when it ends early.
  Expected<void> stream(const std::string& target,
                        const std::function<bool(std::string_view)>& piece);

 private:
  explicit Daemon(http::Client client) : client_(std::move(client)) {}
  Expected<Json> ask(std::string_view method, const std::string& target, std::string body);

  http::Client client_;
};

/// The content of an answer, or the error in it; see Daemon::get().
Expected<Json> answer_of(const http::Response& response);
/// The same of what was posted there, with a refusal in words of the command line.
Expected<Json> answer_to_post(const std::string& target, const http::Response& response);

/// `/v1/jobs/42` and what follows it, by a number or a handle.
std::string job_target(std::uint64_t job, std::string_view rest = {});
std::string job_target(const std::string& handle, std::string_view rest = {});

/// True for a state that a job never leaves.
bool has_ended(const Json& job);
/// The exit code for the outcome of an ended job, whether the answer has a number or not.
int exit_code_of(const Json& job);

}  // namespace berth::cli
