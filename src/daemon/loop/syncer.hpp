// The sync thread: replies wait here until the data they confirm is on disk. One fsync serves all
// waiting replies. A second thread tidies the log, which may take long and must not delay replies.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

class Syncer : public live::Syncs {
 public:
  using Sync = std::function<Expected<void>()>;

  struct Tidying {
    std::function<bool()> is_due;  ///< Asked after each sync, on its thread.
    std::function<void()> work;    ///< Beside further syncs, on a thread of its own.
  };

  Syncer(Sync sync, Tidying tidying);
  ~Syncer() override;  ///< Keeps every promise first.

  /// Calls `promise` on the sync thread. From any thread.
  void after_sync(Promise promise) override;

 private:
  void run();
  void tidy();

  Sync sync_;
  Tidying tidying_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< For run().
  std::condition_variable untidy_;   ///< For tidy().
  std::vector<Promise> promises_;
  bool is_untidy_ = false;
  bool stopping_ = false;
  std::thread thread_;
  std::thread tidier_;
};

}  // namespace berth::daemon
