#include "policy/pipeline/victims.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

namespace berth {

std::optional<Victims::Chosen> Victims::choose(const Head& head, const Ask& ask,
                                               std::span<const JobId> leaving) {
  asked_ = true;
  const auto can_be_suspended = [&](std::span<const JobId> victims) {
    if (!HostRoom::is_bounded(walk_.view())) return true;
    const JobView newcomer = walk_.view().job(head.job());
    const auto then =
        walk_.order().is_settled(newcomer) ? HostRoom::Then::Stays : HostRoom::Then::GivesWay;
    return host_.admits(newcomer, then, walk_.view(), leaving, victims);
  };
  if (!can_be_suspended({})) return std::nullopt;
  if (are_too_few(head, ask, leaving)) return std::nullopt;
  rank_others();
  Search search{.head = head};
  if (!has(search, 1)) return std::nullopt;
  const auto lowest = least(ask, search, leaving);
  if (!lowest) return std::nullopt;
  Trial& trial = walk_.trial();
  const Trial::Mark mark = trial.mark();
  for (const JobId id : leaving) trial.take(walk_.view().find(id)->grant);
  std::optional<Chosen> choice;
  auto fewest = on_one_node(ask, search, *lowest);
  if (!fewest) fewest = this->fewest(ask, search, *lowest);
  if (fewest) {
    choice = Chosen{.jobs = {}, .placement = std::move(fewest->placement)};
    const auto victims = needed(fewest->victims, head, ask, choice->placement);
    for (const std::size_t victim : victims) choice->jobs.push_back(worst_.at(victim)->job);
    if (!can_be_suspended(choice->jobs)) {
      choice.reset();
    } else {
      for (const std::size_t victim : victims) worst_.at(victim)->gone = true;
    }
  }
  trial.rollback(mark);
  return choice;
}

/// Those whose order is not kept from pass to pass.
void Victims::rank_others() {
  if (std::exchange(ranked_, true)) return;
  for (const JobId id : running_.others()) {
    const JobView job = walk_.view().job(id);
    const Ranked ranked = walk_.order().rank(job, walk_.view());
    if (ranked.valid_until) walk_.wake(*ranked.valid_until);
    worst_.add({ranked.rank, id});
  }
}

/// True if there are so many; then they are found.
bool Victims::has(Search& search, std::size_t count) {
  const Rank bar = bar_of(search.head);
  while (search.found.size() < count) {
    const Displaceable* const worst = worst_.at(search.next);
    if (worst == nullptr || worst->rank <= bar) return false;
    if (!worst->gone) search.found.push_back(search.next);
    ++search.next;
  }
  return true;
}

/// Running jobs of no worse rank stay. The rank of a job whose order has lanes is that of its lane.
Rank Victims::bar_of(const Head& head) const {
  return walk_.order().depends_on() == DependsOn::Lane ? head.group : head.at->rank;
}

void Victims::take_off(std::span<const std::size_t> victims) {
  for (const std::size_t victim : victims) walk_.trial().take(worst_.grant(victim));
}

/// True if too few GPUs would be vacant, in all or on any one node, without all that are of worse
/// rank: most jobs ask in vain, and this needs no order among the victims.
bool Victims::are_too_few(const Head& head, const Ask& ask, std::span<const JobId> leaving) {
  if (!running_.others().empty()) return false;
  const bool may_fit = !begin_vacancy(ask, leaving);
  return !running_.any_worse(bar_of(head), walk_.view().now(), [&](JobId id) {
    if (!may_fit) vacancy_.leave(walk_.view().find(id)->grant);
    return may_fit || vacancy_.may_fit();
  });
}

/// Returns: whether vacant GPUs decide.
bool Victims::begin_vacancy(const Ask& ask, std::span<const JobId> leaving) {
  if (!vacancy_.begin(ask, walk_.placer(), walk_.trial())) return false;
  for (const JobId id : leaving) vacancy_.stop(walk_.view().find(id)->grant);
  return true;
}

/// The least number of victims without which enough GPUs may be vacant once `leaving` have left;
/// nothing if all are too few. Requires: there is a victim.
std::optional<std::size_t> Victims::least(const Ask& ask, Search& search,
                                          std::span<const JobId> leaving) {
  if (!begin_vacancy(ask, leaving)) return 1;
  std::size_t count = 0;
  do vacancy_.leave(worst_.grant(search.found[count++]));
  while (!vacancy_.may_fit() && has(search, count + 1));
  return vacancy_.may_fit() ? std::optional(count) : std::nullopt;
}

/// Those of the first `lowest` on the one node that has enough then, because the others can stay.
/// Takes them off the trial; nothing is changed if that node does not do. Requires: least().
std::optional<Victims::Fewest> Victims::on_one_node(const Ask& ask, const Search& search,
                                                    std::size_t lowest) {
  if (vacancy_.enough().size() != 1) return std::nullopt;
  const NodeId node = vacancy_.enough().front();
  Trial& trial = walk_.trial();
  const Trial::Mark mark = trial.mark();
  std::vector<std::size_t> victims;
  for (const std::size_t victim : std::span(search.found).first(lowest)) {
    const Grant& grant = worst_.grant(victim);
    const auto is_there = [&](const Share& share) {
      return trial.cluster().node_of(share.gpu) == node;
    };
    if (!std::ranges::any_of(grant.shares, is_there)) continue;
    victims.push_back(victim);
    trial.take(grant);
  }
  if (victims.empty()) return std::nullopt;
  Placed placed = walk_.placer().place(ask, search.head.job(), trial);
  if (placed) return Fewest{std::move(victims), std::move(*placed)};
  trial.rollback(mark);
  return std::nullopt;
}

/// Twice as many until there is room, then halves in between: costs what the answer is, not how
/// many there are. Takes them off the trial. Requires: `lowest` is enough or too few.
std::optional<Victims::Fewest> Victims::fewest(const Ask& ask, Search& search, std::size_t lowest) {
  Trial& trial = walk_.trial();
  std::size_t too_few = lowest - 1;
  take_off(std::span(search.found).first(too_few));
  Trial::Mark without_too_few = trial.mark();
  std::size_t enough = lowest;
  std::optional<Placement> found;
  const auto suffices = [&](std::size_t count) {
    trial.rollback(without_too_few);
    take_off(std::span(search.found).subspan(too_few, count - too_few));
    if (Placed placed = walk_.placer().place(ask, search.head.job(), trial)) {
      enough = count;
      found = std::move(*placed);
      return true;
    }
    too_few = count;
    without_too_few = trial.mark();
    return false;
  };
  for (std::size_t count = lowest; !suffices(count);) {
    if (!has(search, count + 1)) return std::nullopt;
    count = has(search, 2 * count) ? 2 * count : search.found.size();
  }
  bool are_off = true;
  while (too_few + 1 < enough) are_off = suffices((too_few + enough) / 2);
  if (!are_off) {
    trial.rollback(without_too_few);
    take_off(std::span(search.found).subspan(too_few, enough - too_few));
  }
  search.found.resize(enough);
  return Fewest{std::move(search.found), std::move(*found)};
}

/// The chosen jobs without which there is no place; the better a job's rank, the earlier it is
/// tried whether it can stay. The placement becomes one beside the jobs that stay. Requires: all of
/// them are taken off, the placement is possible then, and there is none with the last.
std::vector<std::size_t> Victims::needed(std::span<const std::size_t> chosen, const Head& head,
                                         const Ask& ask, Placement& placement) {
  const JobId id = head.job();
  std::vector<std::size_t> needed{chosen.back()};
  for (const std::size_t victim : std::views::reverse(chosen.first(chosen.size() - 1))) {
    const Trial::Mark without = walk_.trial().mark();
    walk_.trial().put(worst_.grant(victim));
    if (walk_.trial().look(placement, ask, id) == Why::Fits) continue;
    const bool too_few = needs_vacant(ask) && walk_.trial().use().vacant() < ask.gpus();
    Placed other =
        too_few ? std::unexpected(Refusal{}) : walk_.placer().place(ask, id, walk_.trial());
    if (other) {
      placement = std::move(*other);
    } else {
      walk_.trial().rollback(without);
      needed.push_back(victim);
    }
  }
  return needed;
}

/// True if it takes so many vacant GPUs and nothing else will do.
bool Victims::needs_vacant(const Ask& ask) const {
  return takes_whole(ask) && walk_.trial().use().admission().mode == AdmissionMode::Guarantee;
}

}  // namespace berth
