// The attempt file: what a shim leaves behind so that any later daemon knows what became of a job.
//
// One file per attempt, `JOB.ATTEMPT`, in a folder of the daemon's. The daemon creates it, flocks
// it and hands the descriptor to the shim; the lock is gone when the shim is. Text lines, each
// appended by one write:
//
//   berth-attempt 1                    format; a reader knows all formats up to its own
//   job 42 attempt 1 user 1000 SUM     SUM: of what is before it in the line.
//                                      `log N` before it: how long the job's log was by then
//   shim PID START SUM                 START: the process's start time in clock ticks since boot
//   go PID START SUM                   written by the job's own process before exec; taken back
//                                      where that cannot be for now, so that it is tried again
//   exit code 7 at MICROS SUM          or `exit signal 9 ...`, `exit exec ERRNO ...` where the
//                                      program could not be run, `exit setup ERRNO ...` where
//                                      something before that failed
//
// Reading:  locked                      the shim lives (an exit line holds all the same)
//           unlocked, no go             never started: nothing of it ran
//           unlocked, go, exit          it ended, so
//           unlocked, go, no exit       the shim died: the job must be ended and marked
// An exit without a go is legal: the attempt failed before its process was about to exec.
// A last line without its newline is not there: a writer died in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth::shim {

inline constexpr int kRecordFormat = 1;

/// A process that cannot be mistaken for a later one with the same pid.
struct Process {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< Field 22 of /proc/PID/stat.

  bool operator==(const Process&) const = default;
};

/// How the job's own process ended.
struct Exit {
  enum class Kind : std::uint8_t {
    Code,
    Signal,
    Exec,   ///< Its program could not be run.
    Setup,  ///< Something before that failed: its directory, its user, its terminal, its client.
  };
  Kind kind = Kind::Code;
  int number = 0;  ///< The exit code, the signal, or the errno of what failed.
  Instant at;      ///< Microseconds since 1970.

  bool operator==(const Exit&) const = default;
};

struct Record {
  int format = kRecordFormat;
  JobId job;
  Attempt attempt;
  uid_t user = 0;
  std::int64_t log_from = 0;  ///< Where its part of the job's log begins.
  std::optional<Process> shim;
  std::optional<Process> go;
  std::optional<Exit> exit;

  bool operator==(const Record&) const = default;
};

/// The first two lines of a new file. `log_from`: as in Record.
std::string header_lines(JobId job, Attempt attempt, uid_t user, std::int64_t log_from = 0);
std::string shim_line(const Process& shim);
std::string go_line(const Process& job);
std::string exit_line(const Exit& exit);
/// A line with these words, its sum and its end.
std::string with_sum(const std::string& words);

/// Errors: BadData naming the line for bytes that no shim wrote and for a newer format; NotFound
/// for a header that is not whole (its daemon died in it: nothing was started).
Expected<Record> parse_record(std::string_view text);

/// The start time of a live process; nothing if there is none, or only its zombie.
std::optional<std::uint64_t> start_of(pid_t pid);

/// The exit code that users see: the code, 128 + signal, 127 for a program that is not there
/// (ENOENT), 126 for one that cannot be run, 125 where berth could not set the job up.
int shell_code(const Exit& exit);

}  // namespace berth::shim
