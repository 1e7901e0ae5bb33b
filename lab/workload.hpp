// The jobs of a demonstration or an evaluation: user, time of submission, and true needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/job.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace berth::lab {

struct Task {
  std::string name;
  int user = 0;  ///< An index into the workload's users.
  Duration at{0};
  GpuCount gpus{1};
  Bytes asks{0};   ///< GPU memory per GPU, as requested.
  Bytes needs{0};  ///< What it really takes, beside its context.
  Duration ramp{0};
  std::int64_t steps = 1;
  Duration step = Duration(10'000);
  double duty = 0.5;  ///< Share of a step on the GPU.
  DurationClass duration_class = DurationClass::Medium;
  std::int32_t retries = 0;

  /// Alone on its GPUs.
  Duration solo() const { return step * steps; }
};

struct Workload {
  std::vector<std::string> users;
  std::vector<Task> tasks;  ///< Ascending by `at`.
};

/// Three users on two 24 GiB cards: long large trainings, medium vision-language jobs, many short
/// ones; some 24 jobs within three seconds, with duties as measured on a production cluster
/// (Lucid's profiles, ASPLOS 2023: median 13 %, 44 % and 94 % for its small, middle and large
/// jobs). Everyone asks honestly. The same seed gives the same jobs.
Workload mixed_workload(std::uint64_t seed);

}  // namespace berth::lab
