// Reports of jobs: datagrams `JOB KEY VALUE` on the socket that BERTH_REPORT names.
//
// Reports are voluntary. The kernel gives the sender's uid, which must be that of the job's user.
// The latest value of a key counts; a job that reports a thousand times a second is journaled four
// times.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "daemon/loop/loop.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

/// Keys of letters, digits, `_`, `.`, `-`, at most 64 bytes; decimal values, kept in millionths.
/// Errors: BadData.
Expected<Reported> parse_report(std::string_view text);

class Reports {
 public:
  /// Whether this user may report for this job.
  using MayReport = std::function<bool(JobId, uid_t)>;
  using Deliver = std::function<void(std::vector<Input>)>;

  /// Errors: Io naming the path; Conflict if another process receives there. A stale socket is
  /// replaced.
  static Expected<std::unique_ptr<Reports>> open(Loop& loop, const std::string& path, mode_t mode,
                                                 MayReport may_report, Deliver deliver);
  ~Reports();  ///< Removes the socket.

  /// Receives at a new socket if the file of the old one was deleted: jobs know only its path. To
  /// be called now and then.
  void come_back();

 private:
  using Key = std::pair<JobId, std::string>;

  struct Place {
    std::string path;
    mode_t mode = 0;
  };

  Reports(Loop& loop, Place place, Descriptor socket, MayReport may_report, Deliver deliver);
  void watch(Descriptor socket);
  void receive();
  void flush();

  Loop& loop_;
  Place place_;
  Descriptor socket_;
  MayReport may_report_;
  Deliver deliver_;
  std::map<Key, std::int64_t> waiting_;
  std::optional<Loop::Watch> watch_;
  Loop::Alarm flush_alarm_;
};

}  // namespace berth::daemon
