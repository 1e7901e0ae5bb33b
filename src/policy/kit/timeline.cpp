#include "policy/kit/timeline.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {

std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer, Leavers& leaving,
                                       Trial& trial) {
  std::vector<Trial::Mark> marks{trial.mark()};  // of the trial after so many departures
  const auto place_after = [&](std::size_t gone) -> Placed {
    if (gone + 1 < marks.size()) {
      trial.rollback(marks[gone]);
      marks.resize(gone + 1);
    }
    while (marks.size() <= gone) {
      trial.take(*leaving.at(marks.size() - 1).grant);
      marks.push_back(trial.mark());
    }
    return placer.place(seeker.ask, seeker.job, trial);
  };
  std::size_t low = 0;  // the fewest departures after which it fits
  std::size_t high = 0;
  Placed best = place_after(high);
  for (std::size_t step = 1; !best && high < leaving.size(); step *= 2) {
    low = high + 1;
    high = std::min(high + step, leaving.size());
    best = place_after(high);
  }
  while (best && low < high) {
    const std::size_t middle = (low + high) / 2;
    if (Placed placed = place_after(middle)) {
      best = std::move(placed);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  trial.rollback(marks.front());
  if (!best) return std::nullopt;
  return Earliest{.placement = std::move(*best),
                  .gone = low,
                  .from = low == 0 ? kNever : leaving.at(low - 1).at};
}

}  // namespace berth
