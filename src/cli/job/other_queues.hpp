// What the options in comment lines of scripts for PBS (qsub), LSF (bsub) and Grid Engine (qsub)
// mean here. One table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth::cli {

/// A queue with lines of its own in scripts.
struct OtherQueue {
  std::string_view mark;    ///< With which its lines begin.
  std::string_view folder;  ///< The variable that tells its jobs where they were submitted;
  std::string_view name;    ///< and the one with their name.
};
/// PBS with OpenPBS's and Torque's spellings, LSF, and Grid Engine with Univa's and Altair's.
std::span<const OtherQueue> other_queues();

/// Of queues whose lines are not read: `#OAR -l gpu=1`, `#FLUX: -N1`. Returns: the mark, or "".
std::string_view unread_mark(std::string_view line);

/// Options of such a line as options of `submit`.
struct QueueOptions {
  std::vector<std::string> words;
  std::vector<std::string> left_out;  ///< `-q gpu is left out: there are no queues; ...`
};
/// Errors: InvalidArgument for what may not be left out, for without it the job would be another.
Expected<QueueOptions> options_of_queue(const OtherQueue& queue,
                                        std::span<const std::string> words);

}  // namespace berth::cli
