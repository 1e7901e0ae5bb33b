// How and when a job's process tree is ended: asked first, killed after.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shim/order.hpp"
#include "shim/program/io.hpp"

namespace berth::shim {

class Ending {
 public:
  Ending(pid_t job, const Order& order);

  /// Asks all of the tree to end; kills it after the grace.
  void stop();
  /// Kills all of the tree.
  void kill();
  /// What a closing terminal does; kills after the grace.
  void hang_up(std::optional<pid_t> foreground);
  /// A signal from the user, for a process group or for the job's.
  void pass_on(int signal, std::optional<pid_t> foreground) const;
  /// The job's own process was collected, others are left.
  void job_ended();

  /// For poll: until on_time() has something to do; -1: it has not.
  int timeout() const;
  void on_time();

 private:
  void kill_at_latest(Clock::time_point time);

  pid_t job_;  ///< 0 once it was collected: its number may be another's.
  std::chrono::milliseconds grace_;
  std::string cgroup_;
  bool was_asked_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::chrono::milliseconds pause_{20};  ///< Until the next round of killing.
};

}  // namespace berth::shim
