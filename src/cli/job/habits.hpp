// What is typed from habit and means something else here.
#pragma once

#include <string>
#include <vector>

#include "cli/job/submission.hpp"

namespace berth::cli {

/// `environment`: the caller's, NAME=value. Returns: warnings, in no way complete.
std::vector<std::string> warnings_of_habits(const JobOptions& options,
                                            const std::vector<std::string>& environment);

/// Of a `--time` that was typed: `1:30` is an hour and a half to some. Returns: a warning, or "".
std::string warning_of_clock(const std::string& time);

/// Of a job of `berth submit`, which has no terminal: a command that will not start without one.
/// Returns: a warning, or "".
std::string warning_of_terminal(const std::vector<std::string>& command);

/// Of a command that no -- comes before: what stands behind its first word goes to it, and so does
/// what was meant for berth. Returns: a warning, or "".
std::string warning_of_words_behind(const std::vector<std::string>& left_over,
                                    const JobOptions& options);

}  // namespace berth::cli
