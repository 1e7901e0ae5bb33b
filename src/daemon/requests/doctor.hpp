// The report of what this daemon enforces on this machine and what it cannot.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/daemon.hpp"

namespace berth::daemon {

/// `{checks: [{name, status, detail}]}`. Belongs to the engine's thread.
nlohmann::json examine(const Daemon& daemon);

// Checks of every site.

nlohmann::json policy_check(const Daemon& daemon);
nlohmann::json disk_check(const Daemon& daemon);

}  // namespace berth::daemon
