// Orphans: attempts whose shims died. Helpers (leftovers.hpp) end their remaining processes, one
// for each user with orphans, so that no user waits for another user's processes.
//
// Belongs to the engine's thread, and never makes it wait.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/attempts/leftovers.hpp"
#include "daemon/loop/loop.hpp"

namespace berth::daemon {

class Orphans {
 public:
  /// Calls `gone`, never from within a call, once no process of an attempt is left or can be ended;
  /// with a message.
  using Gone = std::function<void(const shim::Record&, const std::string& note)>;
  Orphans(Loop& loop, std::string mark, Gone gone);
  ~Orphans();  ///< Calls nothing any more. A helper that hangs is left behind.

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
