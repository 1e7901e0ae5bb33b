// What a user could ask for instead, so that a waiting job starts at once, or much sooner.
//
// Nothing is looked up in a table: the engine is asked with changed wishes, on copies, and each
// hint is what the engine said to that very wish. Where a wish has many values (time, memory, GPUs)
// the largest that serves is found by bisection over the values that people type.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "core/cluster.hpp"
#include "core/job.hpp"
#include "engine/engine.hpp"
#include "engine/forecast.hpp"

namespace berth {

/// The one thing that is changed. The words of the API: doc/openapi.yaml.
enum class Wanting : std::uint8_t {
  Priority,
  Time,
  Vram,
  Gpus,
  Types,
  Only,
  Share,
  Suspend,
  Cpus,
  Mem
};
inline constexpr std::array kAllWanting = {
    Wanting::Priority, Wanting::Time,  Wanting::Vram,    Wanting::Gpus, Wanting::Types,
    Wanting::Only,     Wanting::Share, Wanting::Suspend, Wanting::Cpus, Wanting::Mem};

struct Hint {
  Wanting what = Wanting::Time;
  JobSpec spec;  ///< The job's, changed in that.
  Instant start;
  Placement placement;          ///< Where it starts then.
  std::int64_t loss_milli = 0;  ///< What the user gives up; the least is the cheapest.
};

/// When and where a job with such a spec starts.
struct Answered {
  Instant start;
  Placement placement;
};

/// Whom to ask. Both return nothing for "no", and for "there is no more time to ask".
struct HintSource {
  using Ask = std::function<std::optional<Answered>(const JobSpec& changed)>;
  Ask at_once;  ///< In a single step.
  Ask ahead;    ///< In a run into the future; unset: only hints that start the job at once.
};

struct HintQuestion {
  const JobSpec& spec;
  ClusterView view;
  Instant now;
  std::optional<Instant> start;   ///< As predicted without a change.
  Duration usual_run = kForever;  ///< The bound of its class.
  std::int32_t next_priority =
      0;                         ///< Above all waiting jobs of its user; 0: none waits ahead of it.
  std::set<Wanting> fixed = {};  ///< What cannot be changed.
  Duration longest_time = kForever;  ///< That a time limit may be.
};

/// The cheapest first, one for each thing that can be changed. Those that start the job at once;
/// if there are none, those with which it waits half as long at most. Cost: at most kMostAsked
/// questions of each kind.
std::vector<Hint> hints_for(const HintQuestion& question, const HintSource& source);
inline constexpr int kMostAsked = 48;

/// One step of the copy with this input: where the job has started after it.
std::optional<Placement> placed_at_once(Engine copy, const Input& wish, JobId job, Instant now);

/// Above the priority of every other job of this user that waits; 0 if none does, or if this one
/// is above them already.
std::int32_t priority_above_own(const ClusterView& view, const JobSpec& spec, JobId job);

}  // namespace berth
