// Which job a process says that it belongs to which is in no job's tree: it has the job's key
// (job_keys.hpp) in its environment, as what a container engine's daemon starts for a job can have.
//
// Reading the environment of a process waits for its memory lock and its pages, which its user can
// hold for as long as they like. So a thread of its own reads each, two at a time of one user, and
// nothing waits for it longer than 20 ms; until it is read, the process says nothing. Belongs to
// the probe's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/ids.hpp"
#include "daemon/attempts/job_keys.hpp"

namespace berth::daemon {

class Declarations {
 public:
  /// `folder`: where processes are, /proc but for tests.
  explicit Declarations(JobKeys keys, std::string folder = "/proc")
      : keys_(std::move(keys)), folder_(std::move(folder)) {}

  /// The environment is read once in the life of a process.
  std::optional<JobId> job_of(pid_t pid);

 private:
  struct Reading;  ///< Shared with the thread, which may be left behind.
  struct Known {
    std::uint64_t start = 0;  ///< Of the process: its number may be another's later.
    uid_t user = 0;
    std::shared_ptr<Reading> reading = nullptr;  ///< Null once it has been read.
    std::optional<JobId> job = std::nullopt;
  };
  bool may_read_of(uid_t user) const;
  void take(pid_t pid, Known& known) const;
  void forget_ended();

  JobKeys keys_;
  std::string folder_;
  std::map<pid_t, Known> known_;
};

}  // namespace berth::daemon
