// A daemon of canned answers on a real socket, which can go away and come back.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.hpp"
#include "support/process.hpp"

namespace berth::test {

/// Routes are written `GET /v1/jobs`, without the query.
class FakeDaemon {
 public:
  FakeDaemon() { start(); }
  ~FakeDaemon() { stop(); }

  std::string socket() const { return scratch_ / "berth.sock"; }
  void start();
  /// Ends its connections too; the answers and what was asked so far stay.
  void stop();

  /// What a route answers from now on; several in turn, then the last again. Other routes: 404.
  void answer(const std::string& route, std::vector<http::Response> responses);
  void answer(const std::string& route, const std::string& body) {
    answer(route, {{.body = body}});
  }
  /// A route whose answer the test writes piece by piece.
  void answer_in_pieces(const std::string& route);
  /// The route is not there any more.
  void forget_pieces(const std::string& route);

  /// The next request of a route that was not taken yet; waits for it, and fails the test if none
  /// comes.
  http::Request take(const std::string& route);
  /// The same for one that is answered in pieces.
  std::shared_ptr<http::Stream> take_stream(const std::string& route);

 private:
  void handle(const std::shared_ptr<http::Exchange>& exchange);

  ScratchFolder scratch_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::string, std::deque<http::Response>> answers_;
  std::map<std::string, std::deque<http::Request>> requests_;
  std::map<std::string, std::deque<std::shared_ptr<http::Stream>>> streams_;
  std::unique_ptr<http::Server> server_;
};

/// `event: job` with this data.
std::string job_event(const std::string& json);

}  // namespace berth::test
