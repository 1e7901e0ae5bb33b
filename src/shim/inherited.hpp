// What a job must not pass on to jobs that are submitted from inside it: the variables that berth
// set for it.
//
// A job's environment says in BERTH_SET which variables these are, and what they were set to:
// `MASTER_PORT:1f2e...,BERTH_VRAM_BYTES:...`, the second of each a hash of the whole variable. A
// variable that the job's user gave another value is passed on. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::shim {

inline constexpr std::string_view kBerthSet = "BERTH_SET";

/// What BERTH_SET says of `NAME=value`.
std::string mark_of(std::string_view variable);

/// Drops BERTH_SET and each variable that is as it says. What a job was told of Slurm goes as a
/// whole, since each step of it is told something else; not where the submission itself asks for
/// that by BERTH_SLURM=1. Does nothing to an environment without BERTH_SET.
void drop_inherited(std::vector<std::string>& environment);

}  // namespace berth::shim
