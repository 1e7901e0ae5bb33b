// How and when a job's process tree is ended: asked first, killed after.
//
// A job can have processes of other users in its tree: what its user starts by sudo and the like.
// So whoever asks or passes a signal on does it as the job's user. Only the kill at the end is the
// shim's own, for a place that berth gave away must become free again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shim/order.hpp"
#include "shim/program/io.hpp"
#include "shim/program/tree.hpp"
#include "shim/program/user.hpp"

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
  /// Processes that were killed long ago and hang in the kernel, where nothing else is left: there
  /// is nothing more to do, and to wait for them would hold the job's place for as long as somebody
  /// likes. 0 while there is.
  int hanging() const { return hanging_; }

 private:
  void kill_at_latest(Clock::time_point time);

  Tree tree_;
  User user_;
  std::chrono::milliseconds grace_;
  std::string cgroup_;
  bool was_asked_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> killed_at_;  ///< For the first time.
  int hanging_ = 0;
  std::chrono::milliseconds pause_{20};  ///< Until the next round of killing.
};

}  // namespace berth::shim
