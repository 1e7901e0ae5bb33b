// Clients that list jobs without pause, and what that costs everybody else.
#pragma once

#include "live/figures.hpp"

namespace berth::bench {

/// A berthd with a thousand jobs that are held, while so many processes of another user, niced,
/// list all of them again and again: how long submits take, starts, and until a job is ended whose
/// surplus meets memory granted to another. Errors: Io, Conflict.
Expected<Figures> flood(int clients);

}  // namespace berth::bench
