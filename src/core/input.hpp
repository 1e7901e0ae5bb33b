// The inputs of the engine. Shells make them, the journal stores them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/question.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"
#include "core/knowledge/speeds.hpp"
#include "core/link.hpp"
#include "core/settings.hpp"

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
/// A held job may start, or one that its user suspended may go on.
struct ReleaseAsked {
  JobId job;
};
/// A running job is suspended, and waits for its owner's release.
struct SuspendAsked {
  JobId job;
};

// From the shell that runs jobs. Inputs about an attempt that is not the job's latest are ignored.
struct Started {
  JobId job;
  Attempt attempt;
};
struct StartFailed {
  JobId job;
  Attempt attempt;
};
/// A process ended; from a shell that learns of ends at once.
struct Exited {
  JobId job;
  Attempt attempt;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
};
/// A process ended; from a shell that may learn of ends late.
struct AttemptEnded {
  JobId job;
  Attempt attempt;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
  Instant at;                  ///< When its process ended.
  bool again_if_hurt = false;  ///< It may run again if a neighbour's overrun ended it.
};
/// The attempt could not be suspended and runs on; it is not to be preempted before `stays_until`.
struct SuspendFailed {
  JobId job;
  Attempt attempt;
  Instant stays_until;
};
/// The attempt could not go on from where its job was suspended; its process waits as before.
struct ResumeFailed {
  JobId job;
  Attempt attempt;
};
/// Of an attempt that is being suspended: its own process held no GPU memory, but one below it did,
/// or none yet. So a program may start that looks for the GPUs which the attempt was given at its
/// start: it goes on with those it has and no others.
struct Rooted {
  JobId job;
  Attempt attempt;
};
/// The attempt's GPU memory was measured to be free, so its charge can be released.
struct Released {
  JobId job;
  Attempt attempt;
};

/// The attempt is charged so much on this GPU from here on, if that is less than before: its user
/// allows it. It holds no more now.
struct Shrunk {
  JobId job;
  Attempt attempt;
  GpuId gpu;
  Bytes charge{0};
};

// From probes.
/// What a job holds on a GPU. Of one that was not given this GPU, it is in the foreign use too.
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
/// The GPU failed under its tenants: what they do there is lost, whether they notice or not.
struct GpuLost {
  GpuId gpu;
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
/// The program that a job runs, so that its runs can be compared.
struct Identified {
  JobId job;
  Fingerprint what;
};
/// Weights of users; a user who is not named has weight kUsualWeight.
struct Weighed {
  std::map<UserId, std::int64_t> weights_milli;
};
/// The table of speeds; it replaces the table before.
struct Profiled {
  Speeds speeds;
};
/// New bounds on the cost of preemption for a job.
struct Bounded {
  PreemptionBounds bounds;
};
/// What its user changed of a job that waits and has no process: request, time limit, priority; of
/// a job with a berth the time limit alone. Or the memory that jobs like this one show by now.
struct Updated {
  JobId job;
  JobSpec spec;
  std::optional<std::string> name = std::nullopt;  ///< Which the engine does not need.
};
/// The run time that jobs like this one show by now: see may_be_estimated().
struct Estimated {
  JobId job;
  Duration estimate{0};
  std::int32_t learned_from = 0;  ///< Runs.
};
/// A GPU takes no more jobs, or does again.
struct Drained {
  GpuId gpu;
  std::optional<Drain> drain;
};
/// What connects the GPUs of a node, by their places on it; it replaces what was known before.
struct Wired {
  NodeId node;
  std::vector<Link> links;
};
/// GPUs are reserved from now on: an entry of the calendar. Ignored if its number is not new or has
/// the bit of another.
struct Reserved {
  ReservationId id;
  Reservation reservation;
};
struct Unreserved {
  ReservationId id;
};
/// Others need what this attempt holds beyond its grant: it is ended as an overrun.
struct SurplusAsked {
  JobId job;
  Attempt attempt;
};
/// What a process that is to be adopted holds on a GPU, as foreign use so far, and its charge.
struct AdoptedShare {
  GpuId gpu;
  Bytes held{0};
  Bytes charge{0};  ///< As much at least.
  Bytes rest{0};    ///< Foreign use there beside it, by the look that saw it.
};
/// A process that its user started by hand is a job from here on, which runs: where what it holds
/// fits as its charge, beside what others were promised.
struct Adopted {
  JobId job;
  JobSpec spec;
  std::vector<AdoptedShare> shares;  ///< Ascending by GPU; as many as `spec` asks for.
};
/// A solver's answer to a question of the policy; it is there for the pass of this step.
struct Solved {
  Answer answer;
};
struct Ticked {};  ///< Time passed: a wake-up, or no input.

using Input =
    std::variant<Submitted, CancelAsked, HoldAsked, ReleaseAsked, Started, StartFailed, Exited,
                 AttemptEnded, Released, Measured, GpuHealth, NodeHealth, Reported, Identified,
                 Profiled, Configured, Weighed, Bounded, Ticked, SuspendAsked, SuspendFailed,
                 ResumeFailed, Shrunk, Updated, Drained, GpuLost, Wired, Reserved, Unreserved,
                 Estimated, SurplusAsked, Rooted, Adopted, Solved>;

}  // namespace berth
