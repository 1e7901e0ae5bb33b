// How and when a job's process tree is ended: asked first, killed after.
//
// A job's tree can have processes of other users, such as those started by sudo. Therefore a
// process of the job's user asks to end and passes signals on. Only the final SIGKILL is the shim's
// own, because a place that berth gave away must become free again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shim/order.hpp"
#include "shim/program/io.hpp"
#include "shim/program/tree.hpp"
#include "shim/program/user.hpp"

namespace berth::shim {

/// In Slurm's words, as that is what people and their scripts look for in a log that ends suddenly.
/// Returns: "" if there is nothing to say.
std::string ended_text(JobId job, EndedFor why);

class Ending {
 public:
  Ending(pid_t job, const Order& order);

  /// Asks all of the tree to end; kills it after the grace.
  void stop();
  /// Tells those of the tree that hear its signal to save their state, and stops all of it after
  /// the time for that; at once if none hears it.
  void save();
  /// Kills all of the tree.
  void kill();
  /// What a closing terminal does; kills after the grace.
  void hang_up(std::optional<pid_t> foreground);
  /// A signal from the user, for a process group or for the job's.
  void pass_on(int signal, std::optional<pid_t> foreground) const;
  /// The same for those of these groups that handle it: others would die of it. Returns: whether
  /// any does.
  bool warn(int signal, std::optional<pid_t> foreground) const;
  /// The job's own process was collected, others are left. They are asked to end a moment later:
  /// helpers that end with the job by themselves, as those of Python's multiprocessing, first tidy
  /// up. Those that were told to end already, or that their terminal is gone, have their whole time
  /// for it.
  void job_ended();
  /// Whether they were asked.
  bool ends_leftovers() const { return ends_leftovers_; }

  /// Whether some of it was killed because it had not ended in the time for that.
  bool outlasted_grace() const { return outlasted_grace_; }

  /// For poll: until on_time() has something to do; -1: it has not.
  int timeout() const;
  void on_time();
  /// The number of processes that were killed long ago and hang in the kernel, once no other is
  /// left; 0 before. There is nothing more to do for them, and to wait would hold the job's place
  /// for any time.
  int hanging() const { return hanging_; }

 private:
  void end_leftovers();
  void kill_at_latest(Clock::time_point time);

  Tree tree_;
  User user_;
  std::chrono::milliseconds grace_;
  std::string cgroup_;
  int save_signal_;
  std::chrono::milliseconds save_grace_;
  bool was_asked_ = false;
  bool ends_leftovers_ = false;
  bool outlasted_grace_ = false;
  std::optional<Clock::time_point> leftovers_at_;  ///< They are asked then.
  std::optional<Clock::time_point> stop_at_;       ///< It saves its state until then.
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> killed_at_;  ///< For the first time.
  int hanging_ = 0;
  std::chrono::milliseconds pause_{20};  ///< Until the next round of killing.
};

}  // namespace berth::shim
