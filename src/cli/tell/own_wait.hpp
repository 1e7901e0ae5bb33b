// Waiting, inside a job, for a job that waits for this one: neither would end.
#pragma once

#include <cstdint>

#include "cli/ask/daemon.hpp"

namespace berth::cli {

/// Says so on standard error where `job` runs after the job in which this process is, or needs its
/// place. Nothing where this is in no job, or nothing is known.
void tell_if_it_waits_for_us(Daemon& daemon, std::uint64_t job);

}  // namespace berth::cli
