// A thousand clients that follow a log or the events, and when each of them hears what.
#pragma once

#include "live/figures.hpp"

namespace berth::bench {

/// A job writes lines while so many follow its log; after that, while so many follow all events, a
/// job is held and released. Every follower must get every line and every event. Errors: Io,
/// Conflict.
Expected<Figures> followers(int count);

}  // namespace berth::bench
