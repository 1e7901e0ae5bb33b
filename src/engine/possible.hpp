// Requests that make no sense or can never be met on this cluster, and the words to say so.
#pragma once

#include <optional>
#include <string>

#include "core/cluster.hpp"
#include "core/ids.hpp"
#include "core/input.hpp"
#include "core/request.hpp"
#include "core/settings.hpp"

namespace berth {

/// Returns: nothing if some placement could ever hold the request; else the thing, the value and
/// the limit, as in `job 42: asks 9 GPUs, the cluster has 8`. Whether the policy's placement finds
/// one is the policy's to say (Reject).
std::optional<std::string> why_impossible(JobId job, const Request& request,
                                          const Cluster& cluster);

/// False for settings that nothing can be computed with. The shell says what is wrong with them.
bool is_sensible(const Settings& settings);
/// False for weights that are none: 1 to kMostWeight.
bool is_sensible(const PreemptionBounds& bounds);
bool is_sensible(const Weighed& weighed);
/// False for figures that no GPU can have.
bool is_sensible(const Measured& measured);

}  // namespace berth
