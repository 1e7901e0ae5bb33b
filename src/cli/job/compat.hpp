// Command lines of other queues as berth's own: task-spooler's `tsp` (`ts`) and gflow's `gbatch`.
//
// Pure functions of the words typed. What has no equal here is refused with what to say instead, or
// left out with a note where leaving it out does no harm.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth::cli {

struct Compat {
  std::vector<std::string> words;  ///< Of `berth`, without its name.
  std::vector<std::string> notes;  ///< What was left out.
};

/// `queue` is tsp, ts or gbatch. Errors: InvalidArgument naming the word and what to say instead.
Expected<Compat> from_queue(std::string_view queue, std::span<const std::string> typed);

}  // namespace berth::cli
