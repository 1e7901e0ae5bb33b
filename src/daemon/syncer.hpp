// The sync thread: replies wait here until what they promise is on disk. One wait serves all that
// came meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace berth::daemon {

class Syncer {
 public:
  using Sync = std::function<Expected<void>()>;
  using Promise = std::function<void(const Expected<void>&)>;

  /// `tidy` is called after promises were kept, when nobody waits: for work that may take a while.
  Syncer(Sync sync, std::function<void()> tidy);
  ~Syncer();  ///< Keeps every promise first.

  /// Calls `promise` on the sync thread after a sync that began after this call. From any thread.
  void after_sync(Promise promise);

 private:
  void run();

  Sync sync_;
  std::function<void()> tidy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Promise> promises_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace berth::daemon
