// Helpers (helper.hpp) that do one thing each, have a time to do it in, and say what came of it.
//
// Belongs to the engine's thread, and never makes it wait: one that does not end when it is killed,
// as one that hangs in a file system, is left behind until it does.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "daemon/loop/loop.hpp"

namespace berth::daemon {

struct HelperOrder {
  std::string_view flag;
  std::string input;
  std::vector<std::pair<std::string, std::string>> variables;
  Duration most{0};         ///< Then it is killed, with all of its session's first group.
  bool ends_group = false;  ///< What it leaves in that group ends with it, and with the runs.
  std::size_t most_said = 4096;
};

/// What came of a helper.
struct HelperEnd {
  std::string said;  ///< Up to HelperOrder::most_said bytes; whole, unless it was killed.
  bool is_well = false;
  bool was_too_slow = false;
};

class HelperRuns {
 public:
  using Over = std::function<void(const HelperEnd&)>;

  explicit HelperRuns(Loop& loop);
  ~HelperRuns();  ///< Those at work are killed.
  HelperRuns(const HelperRuns&) = delete;
  HelperRuns& operator=(const HelperRuns&) = delete;

  /// `over` is called once, later. Errors: Io: none was started.
  Expected<void> start(const HelperOrder& order, Over over);

 private:
  struct Run;
  void hear(Run& run);
  void conclude(Run& run);

  Loop& loop_;
  std::map<pid_t, std::unique_ptr<Run>> runs_;
};

}  // namespace berth::daemon
