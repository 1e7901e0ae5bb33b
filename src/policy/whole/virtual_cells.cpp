#include "policy/whole/virtual_cells.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/base/assert.hpp"

namespace berth {

namespace {

/// In the order of their keys, and as before among equals.
template <class KeyOf>
void sort_cells(std::vector<CellNumber>& cells, KeyOf key_of) {
  using KeyedCell = std::pair<decltype(key_of(CellNumber())), CellNumber>;
  std::vector<KeyedCell> keyed;
  for (const CellNumber cell : cells) keyed.emplace_back(key_of(cell), cell);
  std::ranges::stable_sort(keyed, {}, &KeyedCell::first);
  std::ranges::transform(keyed, cells.begin(), &KeyedCell::second);
}

/// The last one takes its place, which decides who is next.
void remove_from(std::vector<CellNumber>& list, CellNumber cell) {
  const auto found = std::ranges::find(list, cell);
  BERTH_ASSERT(found != list.end());
  *found = list.back();
  list.pop_back();
}

/// Moves `pod` of the free GPUs to `out`: the first of those in the smallest cell that has so many.
void move_closest(const Cells& cells, std::uint32_t pod, std::vector<std::uint32_t>& free,
                  std::vector<std::uint32_t>& out) {
  std::vector<CellNumber> around;
  for (const std::uint32_t gpu : free) around.push_back(cells.of_gpu(gpu));
  const auto holds_pod = [&](CellNumber cell) { return std::ranges::count(around, cell) >= pod; };
  auto found = std::ranges::find_if(around, holds_pod);
  for (; found == around.end(); found = std::ranges::find_if(around, holds_pod)) {
    for (CellNumber& cell : around) cell = cells[cell].parent;
  }
  std::vector<std::uint32_t> left;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const bool is_taken = pod > 0 && around[i] == *found;
    (is_taken ? out : left).push_back(free[i]);
    if (is_taken) --pod;
  }
  free = std::move(left);
}

/// GPUs for each pod in turn, on one node after the other; no pod goes back to a node that was too
/// small for the one before. `free_in(node)` are the GPUs that it has, the best first.
template <class FreeIn>
std::optional<std::vector<std::uint32_t>> pack_pods(const Cells& cells,
                                                    std::span<const CellNumber> nodes,
                                                    std::span<const std::uint32_t> pods,
                                                    FreeIn free_in) {
  std::vector<std::uint32_t> gpus;
  std::vector<std::uint32_t> free;
  auto next = nodes.begin();
  for (const std::uint32_t pod : pods) {
    while (free.size() < pod) {
      if (next == nodes.end()) return std::nullopt;
      free = free_in(*next++);
    }
    move_closest(cells, pod, free, gpus);
  }
  return gpus;
}

}  // namespace

VirtualClusters::VirtualClusters(ClusterCells machine,
                                 std::span<const std::vector<KindNumber>> clusters)
    : machine_(std::move(machine)),
      tops_(clusters.size()),
      views_(clusters.size()),
      free_(machine_.kinds.count()),
      is_split_(machine_.cells.count()),
      virtual_of_(machine_.cells.count(), kNoCell),
      holder_(machine_.cells.gpus()) {
  const CellKinds& kinds = machine_.kinds;
  for (const CellNumber top : machine_.cells.tops()) {
    free_[machine_.cells[top].kind].push_back(top);
    machine_.cells.append_within_nodes(kinds, top, nodes_);
  }
  for (std::uint32_t cluster = 0; cluster < clusters.size(); ++cluster) {
    for (const KindNumber kind : clusters[cluster]) {
      tops_[cluster].push_back(owned_.add(kinds, kind));
      owned_.append_within_nodes(kinds, tops_[cluster].back(), views_[cluster]);
    }
    sort_cells(views_[cluster],
               [&](CellNumber cell) { return -std::int64_t{kinds[owned_[cell].kind].gpus}; });
  }
  cell_of_.resize(owned_.count(), kNoCell);
}

const GangPlace* VirtualClusters::find(JobId id) const {
  const auto found = gangs_.find(id);
  return found == gangs_.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> VirtualClusters::node_sizes(std::uint32_t cluster) const {
  std::vector<std::uint32_t> sizes;
  for (const CellNumber node : views_[cluster]) {
    sizes.push_back(machine_.kinds[owned_[node].kind].gpus);
  }
  std::ranges::sort(sizes, std::greater());
  return sizes;
}

std::uint32_t VirtualClusters::free_gpus() const {
  return static_cast<std::uint32_t>(std::ranges::count(holder_, JobId(0)));
}

// ---- What is used ------------------------------------------------------------------------------

std::uint32_t VirtualClusters::used_in(CellNumber cell, Users users) const {
  const std::uint32_t first = machine_.cells[cell].first_gpu;
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < machine_.kinds[machine_.cells[cell].kind].gpus; ++i) {
    const GangPlace* const gang = find(holder_[first + i]);
    if (gang == nullptr) continue;
    if (gang->is_opportunistic() == (users == Users::Opportunistic)) ++used;
  }
  return used;
}

/// By the virtual cluster's own gangs.
std::uint32_t VirtualClusters::used_of_owned(CellNumber cell) const {
  const std::uint32_t first = owned_[cell].first_gpu;
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < machine_.kinds[owned_[cell].kind].gpus; ++i) {
    if (cell_of_[owned_.of_gpu(first + i)] != kNoCell) ++used;
  }
  return used;
}

// ---- Search ------------------------------------------------------------------------------------

bool gives_way(const GangPlace& place, const Gang& other) {
  if (place.stays || other.priority < 0) return false;
  if (place.is_opportunistic()) return true;
  return place.cluster == other.cluster && place.priority < other.priority;
}

std::optional<GangChoice> VirtualClusters::choose(const Gang& gang, const Fits& fits) {
  BERTH_ASSERT(!gangs_.contains(gang.id));
  const bool is_opportunistic = gang.priority < 0;
  for (Numbers barred;;) {  // those for which nothing was found that fits
    auto wanted =
        is_opportunistic ? find_free(gang, fits, barred) : find_virtual(gang, fits, barred);
    if (!wanted) return std::nullopt;
    auto gpus =
        is_opportunistic ? std::expected<Numbers, std::uint32_t>(*wanted) : map_all(*wanted, fits);
    const auto bad = gpus ? misfit(*gpus, fits) : std::nullopt;
    if (!gpus || bad) {
      barred.push_back(gpus ? (*wanted)[*bad] : gpus.error());
      continue;
    }
    if (is_opportunistic) wanted->clear();
    GangChoice choice{.gpus = std::move(*gpus), .virtual_gpus = std::move(*wanted)};
    for (const std::uint32_t gpu : choice.gpus) {
      const bool is_known = std::ranges::find(choice.evicted, holder_[gpu]) != choice.evicted.end();
      if (holder_[gpu] != JobId(0) && !is_known) choice.evicted.push_back(holder_[gpu]);
    }
    return choice;
  }
}

std::optional<VirtualClusters::Numbers> VirtualClusters::find_free(const Gang& gang,
                                                                   const Fits& fits,
                                                                   const Numbers& barred) {
  const CellKinds& kinds = machine_.kinds;
  sort_cells(nodes_, [&](CellNumber cell) {
    return std::pair(-std::int64_t{used_in(cell, Users::Opportunistic)},
                     used_in(cell, Users::Guaranteed));
  });
  return pack_pods(machine_.cells, nodes_, gang.pods, [&](CellNumber node) {
    const Cell& cell = machine_.cells[node];
    Numbers free;
    for (std::uint32_t i = 0; i < kinds[cell.kind].gpus; ++i) {
      const std::uint32_t gpu = cell.first_gpu + i;
      const bool is_barred = std::ranges::find(barred, gpu) != barred.end();
      if (holder_[gpu] == JobId(0) && !is_barred && fits(std::span(&gpu, 1))) free.push_back(gpu);
    }
    return free;
  });
}

/// First as if no gang could lose its GPUs.
std::optional<VirtualClusters::Numbers> VirtualClusters::find_virtual(const Gang& gang,
                                                                      const Fits& fits,
                                                                      const Numbers& barred) {
  std::vector<CellNumber>& view = views_[gang.cluster];
  sort_cells(view, [&](CellNumber cell) { return -std::int64_t{used_of_owned(cell)}; });
  for (const bool takes : {false, true}) {
    auto found = pack_pods(owned_, view, gang.pods, [&](CellNumber node) {
      const Cell& cell = owned_[node];
      Numbers free;
      Numbers lower;
      for (std::uint32_t i = 0; i < machine_.kinds[cell.kind].gpus; ++i) {
        const std::uint32_t gpu = cell.first_gpu + i;
        if (std::ranges::find(barred, gpu) != barred.end()) continue;
        const CellNumber bound = cell_of_[owned_.of_gpu(gpu)];
        if (bound == kNoCell) {
          if (may_fit(gpu, fits)) free.push_back(gpu);
        } else if (takes) {
          const GangPlace& holder = gangs_.at(holder_[machine_.cells[bound].first_gpu]);
          if (gives_way(holder, gang)) lower.push_back(gpu);
        }
      }
      free.insert(free.end(), lower.begin(), lower.end());
      return free;
    });
    if (found) return found;
  }
  return std::nullopt;
}

/// False if it is one of a cell that has one of the machine, where none that is left fits.
bool VirtualClusters::may_fit(std::uint32_t virtual_gpu, const Fits& fits) const {
  CellNumber cell = owned_.of_gpu(virtual_gpu);
  while (cell != kNoCell && cell_of_[cell] == kNoCell) cell = owned_[cell].parent;
  if (cell == kNoCell) return true;
  const Cell& bound = machine_.cells[cell_of_[cell]];
  for (std::uint32_t i = 0; i < machine_.kinds[bound.kind].gpus; ++i) {
    const std::uint32_t gpu = bound.first_gpu + i;
    const bool is_left = virtual_of_[machine_.cells.of_gpu(gpu)] == kNoCell;
    if (is_left && fits(std::span(&gpu, 1))) return true;
  }
  return false;
}

/// The last GPU of a part of the gang on one node that does not fit there; nothing if all do.
std::optional<std::size_t> VirtualClusters::misfit(const Numbers& gpus, const Fits& fits) const {
  std::map<CellNumber, Numbers> parts;
  for (const std::uint32_t gpu : gpus) parts[node_of(gpu)].push_back(gpu);
  for (auto& [node, part] : parts) {
    const std::uint32_t last = part.back();
    std::ranges::sort(part);
    if (!fits(part)) return std::ranges::find(gpus, last) - gpus.begin();
  }
  return std::nullopt;
}

CellNumber VirtualClusters::node_of(std::uint32_t gpu) const {
  CellNumber cell = machine_.cells.of_gpu(gpu);
  for (;;) {
    const CellNumber parent = machine_.cells[cell].parent;
    if (parent == kNoCell || machine_.kinds[machine_.cells[parent].kind].has_nodes) return cell;
    cell = parent;
  }
}

// ---- Which cells of the machine a virtual cluster gets -----------------------------------------

/// For each virtual GPU the cells from it up to the first that has a cell of the machine.
VirtualClusters::NeededTrees VirtualClusters::needed_by(const Numbers& virtual_gpus) const {
  NeededTrees trees;
  std::map<CellNumber, std::size_t> known;
  for (const std::uint32_t gpu : virtual_gpus) {
    CellNumber cell = owned_.of_gpu(gpu);
    if (cell_of_[cell] != kNoCell) continue;
    std::optional<std::size_t> part;
    for (;;) {
      const auto [at, is_new] = known.try_emplace(cell, trees.all.size());
      if (is_new) trees.all.push_back({.cell = cell, .parts = {}});
      if (part) trees.all[at->second].parts.push_back(*part);
      if (!is_new) break;
      part = at->second;
      const CellNumber parent = owned_[cell].parent;
      if (parent == kNoCell) {
        trees.tops.push_back(*part);
        break;
      }
      if (cell_of_[parent] != kNoCell) {
        const auto group =
            std::ranges::find(trees.below, parent, [](auto& one) { return one.first; });
        if (group != trees.below.end()) {
          group->second.push_back(*part);
        } else {
          trees.below.push_back({parent, {*part}});
        }
        break;
      }
      cell = parent;
    }
  }
  return trees;
}

/// GPUs of the machine for these, or the one of these that none fits.
std::expected<VirtualClusters::Numbers, std::uint32_t> VirtualClusters::map_all(
    const Numbers& virtual_gpus, const Fits& fits) const {
  Search search{.fits = fits, .trees = needed_by(virtual_gpus), .free = free_};
  const auto last_of = [&](std::size_t needed) {
    while (!search.trees.all[needed].parts.empty()) needed = search.trees.all[needed].parts.back();
    return std::unexpected(owned_[search.trees.all[needed].cell].first_gpu);
  };
  for (const std::size_t top : search.trees.tops) {
    const auto kinds = machine_.kinds.around(owned_[search.trees.all[top].cell].kind);
    const auto has_one = [&](KindNumber from) { return allocate(search, top, from); };
    if (std::ranges::none_of(kinds, has_one)) return last_of(top);
  }
  for (const auto& [parent, needed] : search.trees.below) {
    const auto failed =
        map_each(search, needed, machine_.cells.parts_of(machine_.kinds, cell_of_[parent]));
    if (failed) return last_of(*failed);
  }
  Numbers gpus;
  for (const std::uint32_t gpu : virtual_gpus) {
    const CellNumber bound = cell_of_[owned_.of_gpu(gpu)];
    gpus.push_back(bound != kNoCell ? machine_.cells[bound].first_gpu : search.found.at(gpu));
  }
  return gpus;
}

/// Not bound yet, those that opportunistic gangs use least first.
std::vector<CellNumber> VirtualClusters::usable(std::vector<CellNumber> candidates) const {
  std::erase_if(candidates, [&](CellNumber cell) { return virtual_of_[cell] != kNoCell; });
  sort_cells(candidates, [&](CellNumber cell) { return used_in(cell, Users::Opportunistic); });
  return candidates;
}

/// Takes a cell off the free lists, out of a free cell of kind `from` around it.
bool VirtualClusters::allocate(Search& search, std::size_t top, KindNumber from) const {
  for (const CellNumber cell : usable(search.free[from])) {
    if (from == owned_[search.trees.all[top].cell].kind) {
      if (!map_to(search, top, cell)) continue;
    } else {
      const KindNumber part = machine_.kinds[from].part;
      auto& list = search.free[part];
      const std::size_t before = list.size();
      std::ranges::copy(machine_.cells.parts_of(machine_.kinds, cell), std::back_inserter(list));
      if (!allocate(search, top, part)) {
        list.resize(before);
        continue;
      }
    }
    remove_from(search.free[from], cell);
    return true;
  }
  return false;
}

/// Each takes the first candidate that is left. Returns: the one that none fits.
std::optional<std::size_t> VirtualClusters::map_each(
    Search& search, std::span<const std::size_t> needed,
    const std::vector<CellNumber>& candidates) const {
  std::vector<CellNumber> left = usable(candidates);
  for (const std::size_t one : needed) {
    const auto found =
        std::ranges::find_if(left, [&](CellNumber cell) { return map_to(search, one, cell); });
    if (found == left.end()) return one;
    left.erase(found);
  }
  return std::nullopt;
}

bool VirtualClusters::map_to(Search& search, std::size_t needed, CellNumber cell) const {
  const auto& [virtual_cell, parts] = search.trees.all[needed];
  if (parts.empty()) {
    const std::uint32_t gpu = machine_.cells[cell].first_gpu;
    const GangPlace* const holder = find(holder_[gpu]);
    if (holder != nullptr && holder->stays) return false;
    search.found[owned_[virtual_cell].first_gpu] = gpu;
    return search.fits(std::span(&gpu, 1));
  }
  if (map_each(search, parts, machine_.cells.parts_of(machine_.kinds, cell))) return false;
  if (machine_.kinds[machine_.cells[cell].kind].has_nodes) return true;
  Numbers gpus;
  append_found(search, needed, owned_, gpus);
  std::ranges::sort(gpus);
  return search.fits(gpus);
}

void VirtualClusters::append_found(const Search& search, std::size_t needed, const Cells& owned,
                                   Numbers& out) {
  const auto& [cell, parts] = search.trees.all[needed];
  if (parts.empty()) out.push_back(search.found.at(owned[cell].first_gpu));
  for (const std::size_t part : parts) append_found(search, part, owned, out);
}

// ---- Use ---------------------------------------------------------------------------------------

/// Where no gang is evicted, the virtual GPUs are those that the GPUs become, which may be others
/// than those that were looked for.
void VirtualClusters::take(const Gang& gang, const GangChoice& choice) {
  GangPlace& place = gangs_[gang.id];
  place = {.cluster = gang.cluster, .priority = gang.priority, .gpus = choice.gpus};
  for (std::size_t i = 0; i < choice.gpus.size(); ++i) {
    const std::uint32_t gpu = choice.gpus[i];
    if (holder_[gpu] != JobId(0)) free_gpu(gpu);
    holder_[gpu] = gang.id;
    if (choice.virtual_gpus.empty()) continue;
    std::uint32_t virtual_gpu = choice.virtual_gpus[i];
    if (choice.evicted.empty()) {
      const KindNumber top = owned_[owned_.top_of(owned_.of_gpu(virtual_gpu))].kind;
      const CellNumber cell = machine_.cells.of_gpu(gpu);
      virtual_gpu = owned_[virtual_cell_for(cell, gang.cluster, top)].first_gpu;
    }
    bind(gpu, virtual_gpu);
    place.virtual_gpus.push_back(virtual_gpu);
  }
  for (const JobId id : choice.evicted) remove(id);
}

/// The virtual cell that this cell of the machine is, or else becomes: the first that is free, in
/// one of kind `top` that the virtual cluster owns.
CellNumber VirtualClusters::virtual_cell_for(CellNumber cell, std::uint32_t cluster,
                                             KindNumber top) const {
  if (virtual_of_[cell] != kNoCell) return virtual_of_[cell];
  const auto [kind, parent, first_part, first_gpu] = machine_.cells[cell];
  const std::vector<CellNumber> cells =
      kind == top ? tops_[cluster]
                  : owned_.parts_of(machine_.kinds, virtual_cell_for(parent, cluster, top));
  const auto found = std::ranges::find_if(
      cells, [&](CellNumber one) { return owned_[one].kind == kind && cell_of_[one] == kNoCell; });
  BERTH_ASSERT(found != cells.end());
  return *found;
}

void VirtualClusters::bind(std::uint32_t gpu, std::uint32_t virtual_gpu) {
  CellNumber cell = machine_.cells.of_gpu(gpu);
  CellNumber virtual_cell = owned_.of_gpu(virtual_gpu);
  while (cell_of_[virtual_cell] == kNoCell) {
    cell_of_[virtual_cell] = cell;
    virtual_of_[cell] = virtual_cell;
    virtual_cell = owned_[virtual_cell].parent;
    if (virtual_cell == kNoCell) return take_off_lists(cell);
    cell = machine_.cells[cell].parent;
  }
}

void VirtualClusters::free_gpu(std::uint32_t gpu) {
  holder_[gpu] = JobId(0);
  CellNumber virtual_cell = virtual_of_[machine_.cells.of_gpu(gpu)];
  while (virtual_cell != kNoCell) {
    const auto parts = owned_.parts_of(machine_.kinds, virtual_cell);
    const auto is_bound = [&](CellNumber part) { return cell_of_[part] != kNoCell; };
    if (std::ranges::any_of(parts, is_bound)) return;
    const CellNumber cell = std::exchange(cell_of_[virtual_cell], kNoCell);
    virtual_of_[cell] = kNoCell;
    virtual_cell = owned_[virtual_cell].parent;
    if (virtual_cell == kNoCell) return_to_lists(cell);
  }
}

void VirtualClusters::take_off_lists(CellNumber cell) {
  for (;;) {
    const auto [kind, parent, first_part, first_gpu] = machine_.cells[cell];
    const bool is_in_whole = parent != kNoCell && !is_split_[parent];
    if (is_in_whole) {
      std::ranges::copy(machine_.cells.parts_of(machine_.kinds, parent),
                        std::back_inserter(free_[kind]));
      is_split_[parent] = true;
    }
    remove_from(free_[kind], cell);
    if (!is_in_whole) return;
    cell = parent;
  }
}

void VirtualClusters::return_to_lists(CellNumber cell) {
  for (;;) {
    auto& list = free_[machine_.cells[cell].kind];
    const CellNumber parent = machine_.cells[cell].parent;
    const auto parts = parent == kNoCell ? std::vector<CellNumber>()
                                         : machine_.cells.parts_of(machine_.kinds, parent);
    const bool are_free = !parts.empty() && std::ranges::all_of(parts, [&](CellNumber part) {
      return part == cell || std::ranges::find(list, part) != list.end();
    });
    if (!are_free) return list.push_back(cell);
    for (const CellNumber part : parts) {
      if (part != cell) remove_from(list, part);
    }
    is_split_[parent] = false;
    cell = parent;
  }
}

bool VirtualClusters::put(JobId id, const GangPlace& place) {
  const bool is_bound = !place.is_opportunistic();
  const std::size_t bound = is_bound ? place.gpus.size() : 0;
  const bool is_new = !gangs_.contains(id) && place.cluster < tops_.size();
  if (!is_new || place.virtual_gpus.size() != bound) return false;
  GangPlace& now = gangs_[id];
  now = {.cluster = place.cluster, .priority = place.priority, .stays = place.stays};
  for (std::size_t i = 0; i < place.gpus.size(); ++i) {
    const std::uint32_t gpu = place.gpus[i];
    const bool is_vacant = gpu < holder_.size() && holder_[gpu] == JobId(0);
    if (!is_vacant || (is_bound && !can_bind(place.cluster, gpu, place.virtual_gpus[i]))) {
      remove(id);
      return false;
    }
    now.gpus.push_back(gpu);
    holder_[gpu] = id;
    if (!is_bound) continue;
    now.virtual_gpus.push_back(place.virtual_gpus[i]);
    bind(gpu, place.virtual_gpus[i]);
  }
  return true;
}

/// Whether this virtual GPU can be that GPU, with what is bound already.
bool VirtualClusters::can_bind(std::uint32_t cluster, std::uint32_t gpu,
                               std::uint32_t virtual_gpu) const {
  if (virtual_gpu >= owned_.gpus()) return false;
  CellNumber cell = machine_.cells.of_gpu(gpu);
  CellNumber virtual_cell = owned_.of_gpu(virtual_gpu);
  const auto& tops = tops_[cluster];
  if (std::ranges::find(tops, owned_.top_of(virtual_cell)) == tops.end()) return false;
  if (cell_of_[virtual_cell] != kNoCell) return false;
  for (;;) {
    if (cell == kNoCell || machine_.cells[cell].kind != owned_[virtual_cell].kind) return false;
    if (cell_of_[virtual_cell] != kNoCell) return cell_of_[virtual_cell] == cell;
    if (virtual_of_[cell] != kNoCell) return false;
    virtual_cell = owned_[virtual_cell].parent;
    if (virtual_cell == kNoCell) return is_free(cell);
    cell = machine_.cells[cell].parent;
  }
}

/// True if no virtual cluster has it or a part of it.
bool VirtualClusters::is_free(CellNumber cell) const {
  for (;;) {
    const auto [kind, parent, first_part, first_gpu] = machine_.cells[cell];
    if (std::ranges::find(free_[kind], cell) != free_[kind].end()) return true;
    if (parent == kNoCell || is_split_[parent]) return false;
    cell = parent;
  }
}

void VirtualClusters::remove(JobId id) {
  const auto found = gangs_.find(id);
  if (found == gangs_.end()) return;
  for (const std::uint32_t gpu : found->second.gpus) {
    if (holder_[gpu] == id) free_gpu(gpu);
  }
  gangs_.erase(found);
}

}  // namespace berth
