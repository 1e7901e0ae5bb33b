// The profiles of Pollux and Sia: the time of a step of an application, by placement and batch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "trace/csv.hpp"

namespace berth::trace {

/// One measured point: how long a step takes.
struct ProfilePoint {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::int64_t batch = 0;  ///< Per GPU.
  Duration step{0};
};
using ProfilePoints = std::vector<ProfilePoint>;

/// Their placements.csv or scalability.csv. Errors: BadData naming file, line, column and value.
Expected<ProfilePoints> read_profile_points(Csv& csv);

/// Those for so many GPUs on the fewest nodes, by batch; of several placements the first.
ProfilePoints for_gpus(const ProfilePoints& points, std::int64_t gpus);

}  // namespace berth::trace
