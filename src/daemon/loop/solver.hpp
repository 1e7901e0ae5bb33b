// Answers a policy's questions in a process of its own, `berthd --solve`: a solver takes long, and
// the code of others may crash.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/loop/helper_runs.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// The one argument of the process.
inline constexpr const char* kSolver = "--solve";

/// The process itself: a question from standard input, its answer to standard output. Returns: an
/// exit code.
int solve_one();

class Solver : public live::Solver {
 public:
  struct Hooks {
    std::function<void(Answer)> answered;            ///< Without values if the process failed.
    std::function<void(const std::string&)> failed;  ///< A line for the administrator.
  };
  static constexpr Duration kMost = minutes(5);  ///< Then it is killed.

  Solver(Loop& loop, Hooks hooks) : runs_(loop), hooks_(std::move(hooks)) {}
  /// One at a time: of those that come meanwhile only the latest is answered.
  void solve(berth::Question question) override;

 private:
  void begin(const berth::Question& question);
  void conclude(Answer answer);

  HelperRuns runs_;
  Hooks hooks_;
  bool is_at_work_ = false;
  std::optional<berth::Question> next_;
};

}  // namespace berth::daemon
