#include "policy/pipeline/victims.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

namespace berth {

std::optional<Victims::Chosen> Victims::choose(const Head& head, const Ask& ask,
                                               std::span<const JobId> leaving) {
  rank_others();
  Search search{.head = head};
  if (!has(search, 1)) return std::nullopt;
  Trial& trial = walk_.trial();
  const Trial::Mark mark = trial.mark();
  for (const JobId id : leaving) trial.take(walk_.view().find(id)->grant);
  std::optional<Chosen> choice;
  if (const auto count = fewest(head.job(), ask, search)) {
    const auto chosen = std::span(search.found).first(*count);
    take_off(chosen);
    choice = Chosen{.jobs = {}, .placement = *walk_.placer().place(ask, head.job(), trial)};
    for (const std::size_t victim : needed(chosen, head, ask, choice->placement)) {
      worst_.at(victim)->gone = true;
      choice->jobs.push_back(worst_.at(victim)->job);
    }
  }
  trial.rollback(mark);
  return choice;
}

/// Those whose order is not kept from pass to pass.
void Victims::rank_others() {
  if (std::exchange(ranked_, true)) return;
  worst_.begin(running_, walk_.view());
  for (const JobId id : running_.others()) {
    const JobView job = walk_.view().job(id);
    const Ranked ranked = walk_.order().rank(job, walk_.view());
    if (ranked.valid_until) walk_.wake(*ranked.valid_until);
    worst_.add({walk_.group_rank(job.user()), ranked.rank, id, &job.grant()});
  }
}

/// True if there are so many; then they are found.
bool Victims::has(Search& search, std::size_t count) {
  const Head& head = search.head;
  while (search.found.size() < count) {
    const Displaceable* const worst = worst_.at(search.next);
    const auto key = std::tie(head.group, head.at->rank);
    if (worst == nullptr || std::tie(worst->group, worst->rank) <= key) return false;
    if (!worst->gone) search.found.push_back(search.next);
    ++search.next;
  }
  return true;
}

void Victims::take_off(std::span<const std::size_t> victims) {
  for (const std::size_t victim : victims) walk_.trial().take(*worst_.at(victim)->grant);
}

/// The least number of victims without which enough GPUs are free, in all or on a node; nothing if
/// all are too few. It is cheap and most searches end here, because they find too few victims.
/// Requires: leaving jobs are taken off, and there is a victim.
std::optional<std::size_t> Victims::least(const Ask& ask, Search& search) {
  if (!takes_whole(ask)) return 1;
  const Cluster& cluster = walk_.view().cluster();
  const Occupancy& use = walk_.trial().use();
  const auto wanted = static_cast<std::uint32_t>(ask.gpus().raw());
  const bool on_node = walk_.placer().keeps_on_node() && wanted <= cluster.largest_node() &&
                       use.admission().mode == AdmissionMode::Guarantee;
  GpuCount gpus = use.vacant();
  bool fits_node = !on_node;
  const auto gain = [&](const Grant& grant) {
    gpus += GpuCount(std::ssize(grant.shares));
    if (!on_node) return;
    for_each_node(cluster, grant, [&](NodeId node, std::size_t here) {
      gained_[node.value()] += static_cast<std::uint32_t>(here);
      fits_node = fits_node || use.node(node).vacant + gained_[node.value()] >= wanted;
    });
  };
  gained_.resize(cluster.nodes().size());
  std::size_t count = 0;
  do gain(*worst_.at(search.found[count++])->grant);
  while ((gpus < ask.gpus() || !fits_node) && has(search, count + 1));
  for (std::size_t i = 0; i < count; ++i) {
    for_each_node(cluster, *worst_.at(search.found[i])->grant,
                  [&](NodeId node, std::size_t) { gained_[node.value()] = 0; });
  }
  return gpus >= ask.gpus() && fits_node ? std::optional(count) : std::nullopt;
}

/// Twice as many until there is room, then halves in between: costs what the answer is, not how
/// many there are.
std::optional<std::size_t> Victims::fewest(JobId id, const Ask& ask, Search& search) {
  const auto lowest = least(ask, search);
  if (!lowest) return std::nullopt;
  const Trial::Mark before = walk_.trial().mark();
  std::size_t too_few = 0;
  Trial::Mark without_too_few = before;
  const auto suffices = [&](std::size_t count) {
    walk_.trial().rollback(without_too_few);
    take_off(std::span(search.found).subspan(too_few, count - too_few));
    if (walk_.placer().place(ask, id, walk_.trial())) return true;
    too_few = count;
    without_too_few = walk_.trial().mark();
    return false;
  };
  std::size_t enough = *lowest;
  bool found = suffices(enough);
  while (!found && has(search, enough + 1)) {
    enough = has(search, 2 * enough) ? 2 * enough : search.found.size();
    found = suffices(enough);
  }
  while (found && too_few + 1 < enough) {
    const std::size_t middle = (too_few + enough) / 2;
    if (suffices(middle)) enough = middle;
  }
  walk_.trial().rollback(before);
  return found ? std::optional(enough) : std::nullopt;
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
    walk_.trial().put(*worst_.at(victim)->grant);
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
