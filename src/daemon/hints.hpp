// Frameworks that take the whole card unless told otherwise, told.
//
// Hints are environment variables that the job's own settings override. Where a framework listens
// to no variable there is a warning instead.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/units.hpp"

namespace berth::daemon {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// For a job that asked for `vram` of a GPU of `total`. None for a job that has it alone.
Variables memory_hints(Bytes vram, Bytes total);

/// What the user should know of this command, in a sentence each.
std::vector<std::string> memory_warnings(std::span<const std::string> arguments);

}  // namespace berth::daemon
