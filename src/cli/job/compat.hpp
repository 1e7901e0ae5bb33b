// Command lines of other queues as berth's own: task-spooler's `tsp` (`ts`) and gflow's `gbatch`.
//
// Task-spooler of Debian, `tsp`, starts a job after another that ended well; its fork for GPUs,
// `ts`, after any end. Pure functions of the words typed. What has no equal here is refused with
// what to say instead, or left out with a note where leaving it out does no harm.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job/script.hpp"
#include "cli/print/json.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// The job that a command line means without a number.
enum class LastJob : std::uint8_t {
  None,   ///< None is meant.
  Added,  ///< The user's last in the queue, whatever became of it.
  Run,    ///< The last of those that have begun.
};

struct Compat {
  std::vector<std::string> words;  ///< Of `berth`, without its name; none with `state_of`.
  std::vector<std::string> notes;  ///< What was left out.
  std::string hint = {};           ///< For a person: what goes otherwise than there.
  std::string after_last = {};     ///< The option, behind the verb, that takes the user's last job.
  std::string state_of = {};       ///< The job whose spooler_state() is asked for.
  LastJob of_last = LastJob::None;  ///< Which is to stand behind the words, or is `state_of`.
  bool wants_state = false;         ///< spooler_state(), of `state_of`.
};

/// What the words are read beside.
struct Here {
  /// What a script of gflow's is, by its name; empty: nothing.
  std::function<Expected<GflowScript>(const std::string& program)> script_of = {};
  std::string conda = {};  ///< The conda environment that is active, `$CONDA_DEFAULT_ENV`.
};

/// `queue` is tsp, ts or gbatch. Errors: InvalidArgument naming the word and what to say instead.
Expected<Compat> from_queue(std::string_view queue, std::span<const std::string> typed,
                            const Here& here = {});

/// `queued`, `running`, `finished`, or `skipped` for a job that ended without a start.
std::string spooler_state(const Json& job);

}  // namespace berth::cli
