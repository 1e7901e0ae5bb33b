// What the configuration says of the policy and of the engine's settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/ids.hpp"
#include "core/input.hpp"
#include "core/run_estimate.hpp"
#include "core/settings.hpp"

namespace berth::live {

/// The policy and the engine's settings, from the configuration.
struct Rules {
  std::string policy = "headroom";
  std::string place = "least-shared";
  Settings settings;
  PreemptionBounds bounds = {};
  std::map<UserId, std::int64_t> weights = {};  ///< Of users, in thousandths: see Weighed.
  Speeds speeds = {};                           ///< Of models: see Profiled.
  bool learn_run_times = true;  ///< Of jobs whose users state none: see learn_estimate().
  std::int64_t learn_run_times_after = kFewestRuns;  ///< Runs of a program.
  bool learn_memory = true;  ///< Of jobs whose users state none: see memory_from().
};

}  // namespace berth::live
