#include "lab/workload.hpp"

#include <algorithm>

#include "core/rng.hpp"

namespace berth::lab {

namespace {

using namespace literals;

struct Kind {
  const char* name;
  int user;
  int count;
  std::int64_t least_gib;
  std::int64_t most_gib;
  std::int64_t least_millis;
  std::int64_t most_millis;
  std::int64_t duty_percent;
  DurationClass duration_class;
};

constexpr Kind kKinds[] = {
    {"train", 0, 4, 11, 15, 6000, 9000, 60, DurationClass::Long},
    {"vision", 1, 6, 6, 9, 2500, 4000, 44, DurationClass::Medium},
    {"probe", 2, 14, 2, 4, 500, 1200, 13, DurationClass::Short},
};

/// Real requests leave a little room: a fifth of a GiB to one.
Task task_of(const Kind& kind, int number, Rng& rng) {
  const Bytes needs = 1_GiB * rng.between(kind.least_gib, kind.most_gib);
  const std::int64_t millis = rng.between(kind.least_millis, kind.most_millis);
  Task task{.name = std::string(kind.name) + "-" + std::to_string(number),
            .user = kind.user,
            .at = Duration(rng.between(0, 3'000'000)),
            .asks = needs + 256_MiB * rng.between(1, 4),
            .needs = needs,
            .ramp = Duration(millis * 300),
            .steps = millis / 20,
            .step = Duration(20'000),
            .duty = static_cast<double>(kind.duty_percent) / 100,
            .duration_class = kind.duration_class};
  return task;
}

}  // namespace

Workload mixed_workload(std::uint64_t seed) {
  Workload workload{.users = {"ada", "ben", "cem"}, .tasks = {}};
  Rng rng(seed);
  for (const Kind& kind : kKinds) {
    for (int i = 1; i <= kind.count; ++i) workload.tasks.push_back(task_of(kind, i, rng));
  }
  std::ranges::stable_sort(workload.tasks, {}, &Task::at);
  return workload;
}

}  // namespace berth::lab
