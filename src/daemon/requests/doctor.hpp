// The report of what this daemon enforces on this machine and what it cannot.
#pragma once

#include "daemon/daemon.hpp"
#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

/// `{checks: [{name, status, detail}]}`. Belongs to the engine's thread.
Json examine(const Daemon& daemon);

// Checks of every site.

Json policy_check(const Daemon& daemon);
Json disk_check(const Daemon& daemon);

}  // namespace berth::daemon
