// A trace run for real: real processes on emulated or real GPUs, by a berthd of its own.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.hpp"
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

/// What becomes of a job that ends without a result.
enum class AfterLoss {
  Leave,
  RunAgain,  ///< Its user submits it again at once, kMostTries times in all.
};
inline constexpr int kMostTries = 20;

struct LiveOptions {
  std::string name;
  DaemonOptions daemon;
  Duration longest = minutes(2);
  AfterLoss after_loss = AfterLoss::Leave;
  Duration kill_every = kForever;  ///< So often berthd is killed and started again.
};

/// Until every job has ended. Requires: the trace is as prepare_for_live() leaves it. Errors: what
/// kept it from running, or that it takes longer than `longest`.
Expected<Run> run_live(const Stage& stage, const trace::Trace& trace, const LiveOptions& options,
                       const Watch& watch);

/// POST /v1/jobs for a job: berth-load with its duty and its memory, for its run time. Each of its
/// starts adds a line to the file `begun`; "": there is none.
Json submission_of(const Stage& stage, const trace::TraceJob& job, const std::string& begun = "");
/// Counted from 0, as Berthd::post() wants it.
int user_of(const trace::TraceJob& job);
/// True for `done`, `failed`, `oom`, ...
bool has_ended(const std::string& state);

}  // namespace berth::lab
