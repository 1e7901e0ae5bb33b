// The report of what this daemon enforces on this machine and what it cannot.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/daemon.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/loop/loop.hpp"

namespace berth::daemon {

/// `{checks: [{name, status, detail}]}`. Belongs to the engine's thread.
Json examine(const Daemon& daemon);

// Checks of every site.

Json policy_check(const Daemon& daemon);
Json disk_check(const Daemon& daemon);
/// That many turns were long, and how many jobs wait; "" if few were.
std::string slow_turns_text(const Loop::Turns& turns, std::size_t waiting);

}  // namespace berth::daemon
