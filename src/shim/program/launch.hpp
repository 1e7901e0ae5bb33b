// The job's own process, from its birth to its exec.
#pragma once

#include <sys/types.h>

#include "shim/program/failure.hpp"
#include "shim/program/streams.hpp"

namespace berth::shim {

/// The job's process and where it says what failed before its exec.
class Launched {
 public:
  Launched(pid_t pid, const Failure& failure, int cgroup_error)
      : pid_(pid), failure_(failure), cgroup_error_(cgroup_error) {}

  pid_t pid() const { return pid_; }
  /// What kept it from its exec; Step::None if nothing did.
  Failure failure() const { return failure_; }
  /// Why it is not in the cgroup of its order; 0 if it is, or there is none.
  int cgroup_error() const { return cgroup_error_; }

 private:
  pid_t pid_;
  Failure failure_;
  int cgroup_error_;
};

Attempted<Launched> launch(const Order& order, const JobEnds& ends, int attempt_file);

}  // namespace berth::shim
