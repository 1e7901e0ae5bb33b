// A receiver of web requests on this machine, as tests want it: it answers, says what it is told to
// say, or never answers.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "posix/descriptor.hpp"

namespace berth::test {

class Receiver {
 public:
  struct Received {
    std::string line;  ///< `POST / HTTP/1.1`.
    std::string head;  ///< The headers, each with its line's end.
    std::string body;
  };

  Receiver();  ///< Listens on a port of 127.0.0.1 that the system chooses.
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// `http://127.0.0.1:PORT` and the path.
  std::string address(const std::string& path) const;
  /// The next request gets this answer in place of 200.
  void answer_next(std::string answer);
  /// From now on requests are taken and none is answered.
  void never_answer();
  /// The oldest request that was not taken yet; waits for it a generous while.
  Received next();
  std::size_t count() const;

 private:
  void serve();
  void take(int connection);

  Descriptor listening_;
  Descriptor ending_;  ///< An eventfd: the end of this.
  int port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Received> received_;
  std::size_t count_ = 0;
  std::deque<std::string> answers_;
  bool is_silent_ = false;
  std::vector<Descriptor> unanswered_;
  std::thread thread_;
};

}  // namespace berth::test
