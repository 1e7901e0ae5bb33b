// Suspends the processes of one job and lets them go on. Runs as a process of its own, `berthd
// --suspend-helper`, which suspend_helpers.hpp starts: a call into the driver can hang, and this
// process can be killed then.
//
// Both errands begin by asking the driver for the state of every process and do what is left to
// do, so each may be cut off anywhere and done again, by this daemon or by the next. The order of
// a suspension: lock all, checkpoint all, then freeze: the driver works through threads of the
// processes, which a frozen one has not. To go on: thaw, restore all, unlock all.
#pragma once

#include "daemon/suspend/suspend_errand.hpp"

namespace berth::daemon {

/// The one argument of the process.
inline constexpr const char* kSuspendHelper = "--suspend-helper";

/// The process itself: reads its errand from standard input, up to an empty line, and tells on
/// standard output. It dies with its daemon. Returns: an exit code.
int suspend_helper();

}  // namespace berth::daemon
