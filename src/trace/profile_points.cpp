#include "trace/profile_points.hpp"

#include <map>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

// Bounds that keep every product in range.
constexpr Duration kLongestPointStep = hours(24);

/// `24`: two GPUs on one node, four on another.
void read_placement(Row& row, std::size_t column, ProfilePoint& point) {
  for (const char c : row.text(column)) {
    if (c < '1' || c > '9') return row.refuse(column, "digits from 1 to 9, one per node");
    ++point.nodes;
    point.gpus += c - '0';
  }
}

}  // namespace

Expected<ProfilePoints> read_profile_points(Csv& csv) {
  Columns columns(csv);
  const auto placement = columns.find("placement");
  const std::size_t nodes = placement ? *placement : columns.need("num_nodes");
  const std::size_t gpus = placement ? *placement : columns.need("num_replicas");
  const std::size_t batch = columns.need("local_bsz"), step = columns.need("step_time");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  ProfilePoints points;
  for (;;) {
    const auto more = csv.next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return points;
    Row row(csv);
    ProfilePoint point{.nodes = placement ? 0 : row.integer(nodes, 1, kMostGpus),
                       .gpus = placement ? 0 : row.integer(gpus, 1, kMostGpus),
                       .batch = row.integer(batch, 1, limits::kMostBatch),
                       .step = row.duration(step)};
    if (placement) read_placement(row, *placement, point);
    if (point.step > kLongestPointStep) row.refuse(step, "a day at most");
    if (row.error()) return std::unexpected(*row.error());
    points.push_back(point);
  }
}

ProfilePoints for_gpus(const ProfilePoints& points, std::int64_t gpus) {
  std::map<std::int64_t, Duration> steps;
  std::int64_t nodes = kMostGpus + 1;
  for (const ProfilePoint& point : points) {
    if (point.gpus != gpus || point.nodes > nodes) continue;
    if (point.nodes < nodes) steps.clear();
    nodes = point.nodes;
    steps.try_emplace(point.batch, point.step);
  }
  ProfilePoints found;
  for (const auto& [batch, step] : steps) found.push_back({nodes, gpus, batch, step});
  return found;
}

}  // namespace berth::trace
