#include "policy/kit/cells.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace berth {

KindNumber CellKinds::number_of(const CellKind& kind) {
  const auto found = std::ranges::find(all_, kind);
  if (found == all_.end()) return all_.push_back(kind), count() - 1;
  return static_cast<KindNumber>(found - all_.begin());
}

KindNumber CellKinds::of_gpus(std::uint32_t gpus) {
  if (gpus == 1) return 0;
  const std::uint32_t odd = gpus >> std::countr_zero(gpus);
  const std::uint32_t parts = std::has_single_bit(gpus) ? 2 : odd;
  return number_of({.gpus = gpus, .parts = parts, .part = of_gpus(gpus / parts)});
}

KindNumber CellKinds::of_nodes(std::uint32_t nodes, KindNumber node) {
  if (nodes == 1) return node;
  const std::uint32_t gpus = nodes * all_[node].gpus;
  const KindNumber half = of_nodes(nodes / 2, node);
  return number_of({.gpus = gpus, .parts = 2, .part = half, .has_nodes = true});
}

std::vector<KindNumber> CellKinds::around(KindNumber kind) const {
  std::vector<KindNumber> found = {kind};
  for (KindNumber one = kind + 1; one < count(); ++one) {
    if (std::ranges::find(found, all_[one].part) != found.end()) found.push_back(one);
  }
  std::ranges::stable_sort(found, {}, [&](KindNumber one) { return all_[one].gpus; });
  return found;
}

CellNumber Cells::add(const CellKinds& kinds, KindNumber kind) {
  const CellNumber top = count();
  all_.push_back({.kind = kind, .first_gpu = gpus()});
  tops_.push_back(top);
  split(kinds, top);
  return top;
}

void Cells::split(const CellKinds& kinds, CellNumber cell) {
  const CellKind& kind = kinds[all_[cell].kind];
  if (kind.parts == 0) {
    of_gpu_.push_back(cell);
    return;
  }
  const CellNumber first = count();
  all_[cell].first_part = first;
  for (std::uint32_t i = 0; i < kind.parts; ++i) {
    const std::uint32_t gpu = all_[cell].first_gpu + i * kinds[kind.part].gpus;
    all_.push_back({.kind = kind.part, .parent = cell, .first_gpu = gpu});
  }
  for (std::uint32_t i = 0; i < kind.parts; ++i) split(kinds, first + i);
}

CellNumber Cells::top_of(CellNumber cell) const {
  while (all_[cell].parent != kNoCell) cell = all_[cell].parent;
  return cell;
}

std::vector<CellNumber> Cells::parts_of(const CellKinds& kinds, CellNumber cell) const {
  std::vector<CellNumber> parts(kinds[all_[cell].kind].parts);
  std::iota(parts.begin(), parts.end(), all_[cell].first_part);
  return parts;
}

void Cells::append_within_nodes(const CellKinds& kinds, CellNumber cell,
                                std::vector<CellNumber>& out) const {
  const CellKind& kind = kinds[all_[cell].kind];
  if (!kind.has_nodes) return out.push_back(cell);
  for (std::uint32_t i = 0; i < kind.parts; ++i) {
    append_within_nodes(kinds, all_[cell].first_part + i, out);
  }
}

ClusterCells::ClusterCells(const Cluster& cluster) {
  for (std::uint32_t s = 0; s < cluster.switches(); ++s) {
    const auto nodes = cluster.nodes_of(SwitchId(s));
    for (auto first = nodes.begin(); first != nodes.end();) {
      const auto is_other = [&](const NodeSpec& node) { return node.gpus != first->gpus; };
      const auto end = std::ranges::find_if(first, nodes.end(), is_other);
      auto left = static_cast<std::uint32_t>(end - first);
      while (left > 0 && first->gpus > 0) {
        const std::uint32_t together = std::bit_floor(left);
        cells.add(kinds, kinds.of_nodes(together, kinds.of_gpus(first->gpus)));
        left -= together;
      }
      first = end;
    }
  }
}

CellStock::CellStock(const ClusterCells& machine)
    : kinds_(machine.kinds), largest_first_(machine.kinds.count()), left_(machine.kinds.count()) {
  std::iota(largest_first_.begin(), largest_first_.end(), KindNumber{0});
  std::ranges::stable_sort(largest_first_, {}, [&](KindNumber kind) {
    return std::pair(-std::int64_t{kinds_[kind].gpus}, kinds_[kind].has_nodes);
  });
  for (const CellNumber top : machine.cells.tops()) ++left_[machine.cells[top].kind];
}

std::optional<KindNumber> CellStock::take(std::uint32_t least, std::uint32_t most) {
  for (const KindNumber kind : largest_first_) {
    const std::uint32_t gpus = kinds_[kind].gpus;
    if (gpus >= least && gpus <= most && take_one(kind)) return kind;
  }
  return std::nullopt;
}

bool CellStock::take_one(KindNumber kind) {
  for (KindNumber from : kinds_.around(kind)) {
    if (left_[from] == 0) continue;
    for (; from != kind; from = kinds_[from].part) {
      --left_[from];
      left_[kinds_[from].part] += kinds_[from].parts;
    }
    --left_[kind];
    return true;
  }
  return false;
}

}  // namespace berth
