// An attempt whose process was started by hand, from its adoption to its end.
//
// The process is no child of the shim. So nobody is told its exit status, what it writes stays
// where it goes, and what it leaves behind does not become the shim's: of that only what was seen
// below it before is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "posix/descriptor.hpp"
#include "shim/proc.hpp"
#include "shim/program/io.hpp"
#include "shim/program/log.hpp"
#include "shim/program/session.hpp"

namespace berth::shim {

class Adoption {
 public:
  /// Requires: the order names a process to adopt.
  Adoption(const Spare& spare, Told told);

  /// Returns when all of it has ended, or never will, and that is written and reported.
  void run();

 private:
  bool begin();
  void hold();
  void look();
  void take_signals();
  void obey(int signal);
  void end_tree();
  void kill_tree();
  void signal_as_user(int signal, void (*send)(const Stat&, int));
  int timeout() const;
  void on_time();
  void note_end();
  Exit end_of_it() const;
  void conclude();
  std::string notes() const;

  const Spare& spare_;
  Order order_;
  Descriptor attempt_;
  Log log_;
  Descriptor process_;         ///< A pidfd of it.
  std::vector<Process> seen_;  ///< All of it that lives, by the last look.
  bool has_ended_ = false;     ///< The process itself.
  Instant ended_at_;
  std::optional<Exit> exit_;  ///< Of one that could not be adopted.
  std::string refusal_;
  bool was_told_to_end_ = false;
  bool was_warned_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> killed_at_;  ///< For the first time.
  bool is_given_up_ = false;
};

}  // namespace berth::shim
