#include "policy/kit/timeline.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {

namespace {

std::vector<Leaving> by_planned_end(const ClusterView& view, std::span<const Fresh> fresh) {
  std::vector<Leaving> leaving;
  leaving.reserve(view.running().size() + fresh.size());
  for (const JobId id : view.running()) {
    const Job& job = *view.find(id);
    leaving.push_back({planned_end(view.job(id), view.now()), job.grant_number, &job.grant});
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : fresh) {
    leaving.push_back({later(view.now(), given.planned), ++number, &given.grant});
  }
  std::ranges::sort(leaving, {}, [](const Leaving& l) { return std::pair(l.at, l.grant_number); });
  return leaving;
}

}  // namespace

Instant planned_end(const JobView& job, Instant now) {
  return job.state() == JobState::Stopping ? now : later(now, job.planned());
}

std::optional<Earliest> earliest_start(JobId job, const Ask& ask, const ClusterView& view,
                                       const Placer& placer, std::span<const Hold> kept,
                                       std::span<const Fresh> fresh, Trial& trial) {
  auto found = earliest_start({job, ask}, placer, by_planned_end(view, fresh), kept, trial);
  if (found && found->gone == 0) found->from = view.now();
  return found;
}

std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer,
                                       std::span<const Leaving> leaving, std::span<const Hold> kept,
                                       Trial& trial) {
  const auto place_after = [&](std::size_t gone) -> Placed {
    const Trial::Mark mark = trial.mark();
    for (std::size_t i = 0; i < gone; ++i) trial.take(*leaving[i].grant);
    for (const Hold& hold : kept) trial.put(hold.ask, hold.placement);
    Placed placed = placer.place(seeker.ask, seeker.job, trial);
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
                  .gone = low,
                  .last = low == 0 ? 0 : leaving[low - 1].grant_number,
                  .from = low == 0 ? kNever : leaving[low - 1].at};
}

}  // namespace berth
