#include "policy/kit/timeline.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {

std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer,
                                       std::span<const Leaving> leaving,
                                       std::span<const KeptRoom> kept, Trial& trial) {
  const auto place_after = [&](std::size_t gone) -> Placed {
    const Trial::Mark mark = trial.mark();
    for (std::size_t i = 0; i < gone; ++i) trial.take(*leaving[i].grant);
    for (const KeptRoom& room : kept) trial.put(room.hold.ask, room.hold.placement);
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
  return Earliest{
      .placement = std::move(*best), .gone = low, .from = low == 0 ? kNever : leaving[low - 1].at};
}

}  // namespace berth
