// Orphans: attempts whose shims died. What is left of them is ended by helpers (leftovers.hpp), one
// for each user who has such attempts, so that nobody waits for somebody else's processes.
//
// Belongs to the engine's thread, and never makes it wait.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/leftovers.hpp"
#include "daemon/loop.hpp"

namespace berth::daemon {

class Orphans {
 public:
  /// `gone` is told, never from within a call, once nothing is left of an attempt or nothing more
  /// can be done about it; with how it went, in words.
  using Gone = std::function<void(const shim::Record&, const std::string& note)>;
  Orphans(Loop& loop, std::string mark, Gone gone);
  ~Orphans();  ///< Nothing is told any more. A helper that hangs is left behind.

  void end(Leftover left);

 private:
  struct Helper;
  void start();
  Expected<std::unique_ptr<Helper>> spawn(const Search& search);
  void watch(uid_t user, Helper& helper);
  void on_report(uid_t user);
  void on_exit(uid_t user);
  void on_silence(uid_t user);
  void leave_behind(std::unique_ptr<Helper> helper);
  void tell(const Helper& helper);

  Loop& loop_;
  std::string mark_;
  Gone gone_;
  std::map<uid_t, std::vector<Leftover>> waiting_;
  std::map<uid_t, std::unique_ptr<Helper>> at_work_;
  std::map<pid_t, std::unique_ptr<Helper>> left_behind_;  ///< Killed, not yet gone.
  Loop::Alarm start_again_;
};

}  // namespace berth::daemon
