// Waits while a job runs: all of `berth run` and `berth attach` after their options are read.
//
// One thread, one poll loop: the shim, standard input and output, the daemon's events and signals.
// The daemon may go away and come back at any time; the job's output does not pass through it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/ask/daemon.hpp"
#include "cli/attend/detach_keys.hpp"
#include "cli/print/json.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

struct Attended {
  int code = 0;
  bool was_taken = false;    ///< The daemon has the job.
  bool broken_pipe = false;  ///< Its reader is gone: end as SIGPIPE ends a program.
  bool had_keys = false;     ///< In front of a terminal, of which the job got the keys.
};

/// `--detach-keys`.
struct DetachOption {
  std::optional<std::string> typed;
};
void add_detach_option(CLI::App& verb, DetachOption& option);
/// As typed, else $BERTH_DETACH_KEYS, else ~d. Errors: InvalidArgument naming the option.
Expected<DetachKeys> detach_keys(const DetachOption& option);

/// How a client leaves a job that goes on.
struct LeavingRules {
  DetachKeys keys = {};        ///< In a terminal.
  bool hangup_leaves = false;  ///< A terminal that closes does not end the job.
};

/// Submits `body` with an `attach` added, and stays until the job has ended, is left or given up.
Attended attend(const CommonOptions& common, Json body, const LeavingRules& leaving);
/// The same for a job that is there. The end of this process never is the job's.
Attended attend_again(const CommonOptions& common, const std::string& job, const DetachKeys& keys);

}  // namespace berth::cli
