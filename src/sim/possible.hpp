// Whether settings that a person gives for a run are such as the engine takes.
#pragma once

#include "engine/possible.hpp"

namespace berth::sim {

inline bool is_possible(const Settings& settings) { return is_sensible(settings); }

}  // namespace berth::sim
