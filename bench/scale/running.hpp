// Many jobs at once.
#pragma once

#include "live/figures.hpp"

namespace berth::bench {

/// So many jobs that sleep, sixteen on each emulated GPU. Errors: Io, Conflict.
Expected<Figures> running(int count);

}  // namespace berth::bench
