#include "policy/pipeline/shadow.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/kit/outlook.hpp"
#include "policy/pipeline/overlay.hpp"

namespace berth {

std::optional<Shadow> shadow_of(Walk& walk, const Departures& departures, JobId job,
                                const Ask& ask) {
  const ClusterView& view = walk.view();
  Leavers leaving = departures.leavers(view, walk.started(), walk.plans());
  auto earliest = earliest_start({job, ask}, walk.placer(), leaving, walk.trial());
  if (!earliest) return std::nullopt;
  return Shadow{.job = job,
                .ask = ask,
                .start = earliest->gone == 0 ? view.now() : earliest->from,
                .place = std::move(earliest->placement)};
}

Hold hold_of(const Shadow& shadow, const Walk& walk, const Departures& departures) {
  const bool is_known =
      !departures.is_guessed(shadow.start, walk.view(), walk.started(), walk.plans());
  return {.job = shadow.job,
          .ask = shadow.ask,
          .placement = shadow.place,
          .from = is_known ? shadow.start : kNever};
}

Trial& AtStart::then() {
  if (then_) return *then_;
  const ClusterView& view = walk_.view();
  use_ = departures_.occupancy_at(shadow_.start, view, walk_.trial().use(), walk_.started(),
                                  walk_.plans());
  return then_.emplace(view.cluster(), *use_);
}

void AtStart::stay_where_kept() {
  const auto holds = walk_.view().holds();
  const auto kept = std::ranges::find(holds, shadow_.job, &Hold::job);
  if (kept == holds.end()) return;
  const bool fits = then().look(kept->placement, shadow_.ask, shadow_.job) == Why::Fits;
  if (fits) shadow_.place = kept->placement;
}

bool AtStart::is_outlasted_by(JobId job) const {
  return later(walk_.view().now(), walk_.counted_on(job)) > shadow_.start;
}

std::optional<Placement> AtStart::place_beside(JobId job, const Ask& ask, Placement wanted) {
  if (const auto again = refused_.find(ask); again != refused_.end() && again->second == wanted) {
    return std::nullopt;
  }
  const Placer& placer = walk_.placer();
  const Trial::Mark mark = then().mark();
  then().put(ask, wanted);
  const bool fits = then().look(shadow_.place, shadow_.ask, shadow_.job) == Why::Fits;
  then().rollback(mark);
  if (fits) return wanted;

  if (auto beside = room_beside(job, ask)) return beside;

  then().put(ask, wanted);
  Placed moved = placer.place(shadow_.ask, shadow_.job, then());
  then().rollback(mark);
  if (!moved) {
    refused_.insert_or_assign(ask, std::move(wanted));
    return std::nullopt;
  }
  shadow_.place = std::move(*moved);
  return wanted;
}

std::optional<Placement> AtStart::room_beside(JobId job, const Ask& ask) {
  const Cluster& cluster = walk_.view().cluster();
  const auto covers = [&](const Ask& refused) { return is_no_larger(refused, ask, cluster); };
  if (std::ranges::any_of(no_room_beside_, covers)) return std::nullopt;
  const Trial::Mark mark = then().mark();
  then().put(shadow_.ask, shadow_.place);
  Scratch both = free_at_both(cluster, walk_.trial().use(), then().use(), shadow_.place);
  then().rollback(mark);
  const Trial beside(cluster, both);
  if (Placed place = walk_.placer().place(ask, job, beside)) return std::move(*place);
  no_room_beside_.push_back(ask);
  return std::nullopt;
}

}  // namespace berth
