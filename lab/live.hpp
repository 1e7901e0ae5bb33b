// A workload run for real: real processes on emulated or real GPUs, by a berthd of its own.
#pragma once

#include <functional>
#include <string>

#include "core/error.hpp"
#include "lab/score.hpp"
#include "lab/stage.hpp"

namespace berth::lab {

/// The state of the run, for the audience.
struct Moment {
  Duration since_start{0};
  Json jobs;  ///< As GET /v1/jobs?all=true lists them.
  Json gpus;  ///< As GET /v1/gpus.
};
using Watch = std::function<void(const Moment&)>;

struct LiveOptions {
  std::string name;
  DaemonOptions daemon;
};

/// Until every job has ended. Errors: what kept it from running, or two minutes.
Expected<Run> run_live(const Stage& stage, const Workload& workload, const LiveOptions& options,
                       const Watch& watch);

/// POST /v1/jobs for a task.
Json submission_of(const Stage& stage, const Task& task);
/// True for `done`, `failed`, `oom`, ...
bool has_ended(const std::string& state);

}  // namespace berth::lab
