// Checks of requests that are invalid or can never be met on this cluster, with error messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/ids.hpp"
#include "core/cluster.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "core/request.hpp"
#include "core/settings.hpp"

namespace berth {

/// The begin of the note of a job that others keep from ever starting.
inline constexpr std::string_view kNeverStarted = "never started: ";

/// Returns: nothing if some placement could ever hold the request; else the thing, the value and
/// the limit, as in `job 42: asks 9 GPUs, the cluster has 8`. The policy
/// rejects a request that its placement can never place (Reject).
std::optional<std::string> why_impossible(JobId job, const Request& request,
                                          const Cluster& cluster);

/// Returns: nothing if a machine without limits could meet it, else the same: `asks -1 GPUs, the
/// least is 0`.
std::optional<std::string> why_senseless(const Request& request);

/// Returns: nothing if a snapshot can hold what this job says, else the same. The doors let in
/// nothing else (core/base/limits.hpp); this is for what came another way, as from another build's
/// journal.
std::optional<std::string> why_unkeepable(JobId job, const JobSpec& spec);

/// False for settings out of range. The shell prints the error.
bool is_sensible(const Settings& settings);
/// False for weights outside 1 to kMostWeight.
bool is_sensible(const PreemptionBounds& bounds);
bool is_sensible(const Weighed& weighed);
/// False for impossible figures of a GPU.
bool is_sensible(const Measured& measured);
bool is_sensible(const Reservation& reservation, std::size_t gpus);

}  // namespace berth
