// What in a command, or in the script that it runs, leads past the GPUs that the job gets: numbers
// of GPUs that it will not see, counts that it does not ask for, programs that run elsewhere.
//
// Files are read here, as their user, to find what is written there plainly; no program is
// understood.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace berth::cli {

struct GpuProgram {
  std::vector<std::string> command;
  std::string directory;    ///< That of the job; names of files are relative to it.
  std::optional<int> gpus;  ///< That it asks for; nothing where that is elastic.
};

/// Returns: warnings, in no way complete; of a script of at most 256 KiB the first three, as
/// `FILE:LINE: ...`.
std::vector<std::string> warnings_of_gpus(const GpuProgram& program);

}  // namespace berth::cli
