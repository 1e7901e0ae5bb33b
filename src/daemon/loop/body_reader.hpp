// The thread that reads requests with large bodies, one user after the other. The server's thread
// has all connections, and would be with one of those bodies for a tenth of a second.
//
// Requests of one connection keep their order, as the next one is taken after the answer.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "live/fair_queue.hpp"

namespace berth::daemon {

class BodyReader {
 public:
  BodyReader();
  ~BodyReader();  ///< Drops what waits.

  /// Calls `work` on the thread, when it is this user's turn.
  void read_for(uid_t user, std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  live::FairQueue<std::function<void()>> waiting_;  ///< Under `mutex_`.
  bool stopping_ = false;                           ///< Under `mutex_`.
  std::thread thread_;
};

}  // namespace berth::daemon
