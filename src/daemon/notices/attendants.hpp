// The `berth run` of each job that waits. One that is ended without a word, as by SIGKILL, takes
// its job along: nobody is left whom its start would serve, and it would fail at it.
//
// It is known by what it asks: news of its job, from the process that the job's request names. So a
// daemon that has just started knows it again. Belongs to the engine's thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "daemon/loop/loop.hpp"
#include "live/keeper.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

class Attendants {
 public:
  /// Each of which outlives it.
  struct Parts {
    Loop& loop;
    const live::Keeper& keeper;
  };
  /// `gone` is told of a job that waits for nobody but a client that has ended.
  Attendants(const Parts& parts, std::function<void(JobId)> gone)
      : parts_(parts), gone_(std::move(gone)) {}

  /// A process asks for news of this job: if it is the client, it is watched from now on.
  void on_follower(JobId job, pid_t process);

 private:
  struct Client {
    Descriptor process;
    std::unique_ptr<Loop::Watch> watch;
  };
  bool is_of(JobId job, pid_t process) const;
  void on_end(JobId job, pid_t process);

  Parts parts_;
  std::function<void(JobId)> gone_;
  std::map<JobId, Client> clients_;
};

}  // namespace berth::daemon
