#include "policy/timeline.hpp"

#include <algorithm>
#include <vector>

namespace berth {

namespace {

struct Leaving {
  Instant at;
  std::uint64_t grant_number;
  JobId job;
  auto operator<=>(const Leaving&) const = default;
};

std::vector<Leaving> by_planned_end(const ClusterView& view) {
  std::vector<Leaving> leaving;
  leaving.reserve(view.running().size());
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    leaving.push_back({planned_end(job, view.now()), job.grant_number(), id});
  }
  std::ranges::sort(leaving);
  return leaving;
}

}  // namespace

Instant planned_end(const JobView& job, Instant now) {
  return job.state() == JobState::Stopping ? now : later(now, job.remaining());
}

std::optional<Earliest> earliest_start(JobId job, const Ask& ask, const ClusterView& view,
                                       const Placer& placer, std::span<const Hold> kept,
                                       Trial& trial) {
  const std::vector<Leaving> leaving = by_planned_end(view);
  const auto place_after = [&](std::size_t gone) -> Placed {
    const Trial::Mark mark = trial.mark();
    for (std::size_t i = 0; i < gone; ++i) trial.take(view.job(leaving[i].job).grant());
    for (const Hold& hold : kept) trial.put(hold.ask, hold.placement);
    Placed placed = placer.place(ask, job, trial);
    trial.rollback(mark);
    return placed;
  };
  std::size_t low = 0;  // the fewest departures after which it fits
  std::size_t high = leaving.size();
  Placed best = place_after(high);
  if (!best) return std::nullopt;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (Placed placed = place_after(middle)) {
      best = std::move(placed);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return Earliest{.placement = std::move(*best),
                  .from = low == 0 ? view.now() : leaving[low - 1].at};
}

}  // namespace berth
