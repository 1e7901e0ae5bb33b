// Scripts as jobs: options in their comment lines (`#BERTH --vram 10G`, `#SBATCH --time=2:00:00`),
// and the command that runs a script which is not executable.
#pragma once

#include <string>
#include <vector>

#include "cli/submission.hpp"
#include "core/error.hpp"

namespace berth::cli {

/// If the command is a script, fills in the options that were not typed: from its #BERTH lines,
/// then from its #SBATCH lines, of two the later. Lines count up to the first that is no comment. A
/// script of this folder is found without `./`, and one that is not executable is given to the
/// program that its first line names. Returns: warnings, one for each #SBATCH option that is left
/// out. Errors: InvalidArgument as `FILE:LINE: ...`; for a whole command line in one word.
Expected<std::vector<std::string>> read_script(JobOptions& options, const Caller& caller);

}  // namespace berth::cli
