// Waits while a job runs: all of `berth run` after its options are read.
//
// One thread, one poll loop: the shim, standard input and output, the daemon's events and signals.
// The daemon may go away and come back at any time; the job's output does not pass through it.
#pragma once

#include <string>

#include "cli/daemon.hpp"
#include "cli/json.hpp"

namespace berth::cli {

struct Attended {
  int code = 0;
  bool broken_pipe = false;  ///< Its reader is gone: end as SIGPIPE ends a program.
};

/// Submits `body` with an `attach` added, and stays until the job has ended or is given up.
Attended attend(const CommonOptions& common, Json body);

}  // namespace berth::cli
