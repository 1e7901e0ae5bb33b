// A swarm: many seeds, one after the other, and what all of them together came upon.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "dst/simulation.hpp"

namespace berth::dst {

/// Runs seeds until one breaks an invariant; that fails the test, with its seed, the commit and the
/// end of its story. Returns: how often what came up.
std::map<std::string, int> run_swarm(std::uint64_t first, std::uint64_t count);

}  // namespace berth::dst
