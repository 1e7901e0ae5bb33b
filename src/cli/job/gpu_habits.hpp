// What in a command, or in a script that it runs, leads past the GPUs that the job gets: numbers
// of GPUs that it will not see, counts that it does not ask for, programs that run elsewhere.
//
// Files are read here, as their user, to find what is written there plainly; no program is
// understood.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/code/gpu_warnings.hpp"
#include "core/text/points.hpp"

namespace berth::cli {

struct GpuProgram {
  std::vector<std::string> command;
  std::string directory;           ///< That of the job; names of files are relative to it.
  std::optional<int> gpus;         ///< That it asks for; nothing where that is elastic.
  std::vector<Point> points = {};  ///< Of a sweep, in order.
};

struct GpuHabits {
  std::vector<std::string> warnings;
  std::vector<MemoryShare> shares;  ///< Whether they are too large depends on the card.
};

/// Returns: what was found, in no way complete; of each of at most four scripts of 256 KiB the
/// first three warnings, as `FILE:LINE: ...`. Of what points make of the command the first is told,
/// as `task 2 (gpu=1): ...`.
GpuHabits habits_of_gpus(const GpuProgram& program);

}  // namespace berth::cli
