// What happened: everything the engine is ever told. Shells make these, the journal keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.hpp"
#include "core/job.hpp"
#include "core/settings.hpp"
#include "core/speeds.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace berth {

// From users.
struct Submitted {
  JobId job;
  JobSpec spec;
  bool held = false;
};
struct CancelAsked {
  JobId job;
};
struct HoldAsked {
  JobId job;
};
struct ReleaseAsked {
  JobId job;
};

// From the shell that runs jobs. Inputs for an attempt that is not the job's latest are ignored.
struct Started {
  JobId job;
  Attempt attempt;
};
struct StartFailed {
  JobId job;
  Attempt attempt;
};
/// From a shell that learns of an end in the instant it happens.
struct Exited {
  JobId job;
  Attempt attempt;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
};
/// From a shell that may learn of an end long after it.
struct AttemptEnded {
  JobId job;
  Attempt attempt;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
  Instant at;                  ///< When its process ended.
  bool again_if_hurt = false;  ///< Whether it may run again where a neighbour's overrun ended it.
};
/// The GPUs' memory of this attempt is seen free; its charge may go.
struct Released {
  JobId job;
  Attempt attempt;
};

// From probes.
struct TenantUse {
  JobId job;
  Bytes bytes{0};
};
struct Measured {
  GpuId gpu;
  Bytes foreign{0};
  Bytes used{0};
  std::vector<TenantUse> tenants;
  std::int16_t utilisation = kUnknownUtilisation;  ///< Percent of the time, in coarse steps.
};
struct GpuHealth {
  GpuId gpu;
  bool healthy = true;
};
struct NodeHealth {
  NodeId node;
  bool healthy = true;
};

// From jobs, profilers and administrators.
struct Reported {
  JobId job;
  std::string key;
  std::int64_t value = 0;
};
struct Configured {
  Settings settings;
};
/// What the job runs, so that runs of its like can be compared.
struct Identified {
  JobId job;
  Fingerprint what;
};
/// What users weigh where they share by weight; who is not named weighs kUsualWeight.
struct Weighed {
  std::map<UserId, std::int64_t> weights_milli;
};
/// How fast models run elsewhere than on what they ask for: replaces what was said before.
struct Profiled {
  Speeds speeds;
};
/// How much preemption may cost a job from now on.
struct Bounded {
  PreemptionBounds bounds;
};
struct Ticked {};  ///< The wake-up asked for, or none: time passed.

using Input = std::variant<Submitted, CancelAsked, HoldAsked, ReleaseAsked, Started, StartFailed,
                           Exited, AttemptEnded, Released, Measured, GpuHealth, NodeHealth,
                           Reported, Identified, Profiled, Configured, Weighed, Bounded, Ticked>;

}  // namespace berth
