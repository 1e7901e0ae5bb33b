// The orphans thread: ends what is left of attempts whose shims died, which may take long.
//
// To look whose a process is reads its environment, and that waits for as long as the process hangs
// in a driver. So the engine's thread does not look.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "shim/record.hpp"

namespace berth::daemon {

class Orphans {
 public:
  /// `gone` is called on the orphans thread, once nothing is left of an attempt.
  Orphans(std::string mark, std::function<void(const shim::Record&)> gone);
  ~Orphans();  ///< Nothing is told any more. A thread that hangs is left behind.

  void end(const shim::Record& record);

 private:
  struct State;
  static void run(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace berth::daemon
