// Environment variables for frameworks that take the whole GPU by default.
//
// The job's own settings override them. For a framework without such a variable there is a warning
// instead.
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

/// Warnings about this command for its user, a sentence each.
std::vector<std::string> memory_warnings(std::span<const std::string> arguments);

}  // namespace berth::daemon
