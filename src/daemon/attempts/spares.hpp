// Shims that wait for a job, made on a thread of their own, because making one takes half a
// millisecond, which the engine's thread needs between the end of a job and the start of the next.
//
// One waits at a time. Everything may be called from any thread; a spare that was taken must have
// its files renamed before the next is asked for.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/error.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

/// A shim that waits, with files that wait too: to make a file can cost a tenth of a millisecond,
/// to rename one costs little, and this is between the end of a job and the start of the next.
struct Spare {
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor socket;
  Descriptor record;
  Descriptor log;
};

struct SpareOptions {
  std::string shim;  ///< Path of berth-shim; opened once, so an upgrade beside us changes nothing.
  std::string attempts;                        ///< Folder of the record's file.
  std::string logs;                            ///< Folder of the log's.
  rlimit files{RLIM_INFINITY, RLIM_INFINITY};  ///< RLIMIT_NOFILE of shims and their jobs.
};

/// The file of a spare in one of the two folders.
std::string spare_path(const std::string& folder);

class Spares {
 public:
  /// Makes the first. Errors: Io naming what failed.
  static Expected<std::unique_ptr<Spares>> open(const SpareOptions& options);
  ~Spares();  ///< The one that waits ends.

  /// Has one made, unless one waits.
  void refill();
  /// The one that waits, or else the next once it is made. Errors: Io naming what failed.
  Expected<Spare> take();

 private:
  Spares(SpareOptions options, Descriptor program);
  Expected<Spare> spawn() const;
  void run();

  SpareOptions options_;
  Descriptor program_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Expected<Spare>> made_;
  bool is_wanted_ = false;
  bool stopping_ = false;
  std::thread thread_;  ///< Last: it uses the others.
};

}  // namespace berth::daemon
