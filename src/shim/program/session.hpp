// One attempt, from its order to its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shim/program/elsewhere.hpp"
#include "shim/program/ending.hpp"
#include "shim/program/launch.hpp"
#include "shim/program/link.hpp"
#include "shim/program/pump.hpp"

namespace berth::shim {

/// The descriptors a shim has before its order.
struct Spare {
  int daemon;   ///< The socket.
  int signals;  ///< A signalfd for SIGCHLD and the signals of order.hpp.
  Process self;
};

class Session {
 public:
  Session(const Spare& spare, Told told);

  /// Returns when all is written and reported.
  void run();

 private:
  Failure start();
  Failure start_with(std::optional<Client> client);
  void hold();
  bool take_signals();
  void say_end(EndedFor why);
  void warn(int signal);
  void attach();
  bool reap();
  void collect(pid_t pid, int status);
  void obey(const Wishes& wishes);
  void give_back();
  void conclude();
  void show_ends_elsewhere();
  void report_failure();
  void report();
  std::string notes() const;

  const Spare& spare_;
  Order order_;
  Descriptor attempt_;
  Log log_;
  std::optional<Pump> pump_;
  std::optional<Launched> launched_;
  std::optional<Ending> ending_;
  std::optional<Elsewhere> elsewhere_;
  std::optional<Exit> exit_;  ///< Of the job's own process.
  Failure failure_;
  bool was_told_to_end_ = false;  ///< By the daemon.
  bool was_warned_ = false;
  bool was_attached_ = false;   ///< Later, by somebody who did not begin it.
  int passed_by_attached_ = 0;  ///< The latest signal that came from there.
  bool was_hung_up_ = false;
  bool had_leftovers_ = false;
  int left_behind_ = 0;
};

}  // namespace berth::shim
