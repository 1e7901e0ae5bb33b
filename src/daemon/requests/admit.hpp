// Whether a job may be submitted, or changed as its user asks: lists of checks, one after the
// other; the first one that fails is the answer. Each names the thing, its value and the limit.
//
// What a text says is checked on any thread; what is held against the machine, the engine's thread
// checks. The engine makes its own check of requests (engine/possible.hpp) afterwards.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "daemon/requests/job_fields.hpp"
#include "daemon/requests/requests.hpp"
#include "daemon/settings/roles.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

class Daemon;

/// What the keys of a submission say, together. Errors: InvalidArgument.
Expected<void> check_fields(const JobFields& fields);

/// Turns the names of GPU types and the indices of GPUs into the cluster's. Errors: InvalidArgument
/// naming one that the cluster does not have, and what it has.
Expected<void> accept_gpus(live::Submission& job, const Cluster& cluster);

/// Gives a job without a time limit the longest one. Errors: InvalidArgument for a longer one.
Expected<void> keep_to_time(Duration& limit, Duration longest);

/// Whether jobs may share GPUs here as this one asks. Errors: InvalidArgument.
Expected<void> check_share(const live::Submission& job, const Daemon& daemon);
/// What this machine can never meet. Requires: accept_gpus(). Errors: InvalidArgument.
Expected<void> check_machine(const live::Submission& job, const Daemon& daemon);

/// A job, and what is to be changed of it.
struct UpdateAsked {
  const Job& job;
  const Change& change;
  const std::string& name;       ///< Of the job, as `job 643_5`.
  Rights rights = Rights::User;  ///< Of who asks.
};
/// The job as it is to be. Errors: Conflict for what cannot be changed now or here, InvalidArgument
/// for a request that this machine can never meet.
Expected<Updated> admit_update(const UpdateAsked& asked, const Daemon& daemon);

}  // namespace berth::daemon
