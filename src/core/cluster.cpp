#include "core/cluster.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/assert.hpp"
#include "core/base/limits.hpp"

namespace berth {

namespace {
constexpr char kEachIndex = '#';
}  // namespace

std::vector<GpuId> gpus_in(GpuSet set) {
  std::vector<GpuId> gpus;
  for (; set != 0; set &= set - 1) {
    gpus.emplace_back(static_cast<std::uint32_t>(std::countr_zero(set)));
  }
  return gpus;
}

SwitchId Cluster::add_switch() {
  switch_first_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  return SwitchId(switches() - 1);
}

std::uint8_t Cluster::type_index(const std::string& name) {
  const auto found = std::ranges::find(types_, name);
  const auto index = found - types_.begin();
  if (found == types_.end()) types_.push_back(name);
  BERTH_ASSERT(types_.size() <= limits::kMostTypes);
  return static_cast<std::uint8_t>(index);
}

NodeId Cluster::add_node(const NodeShape& shape) {
  BERTH_ASSERT(switches() > 0);
  const NodeId id(static_cast<std::uint32_t>(nodes_.size()));
  const bool is_numbered = shape.gpus > 0 && shape.type.ends_with(kEachIndex) &&
                           types_.size() + shape.gpus <= limits::kMostTypes;
  nodes_.push_back({.switch_id = SwitchId(switches() - 1),
                    .first_gpu = GpuId(static_cast<std::uint32_t>(gpus_.size())),
                    .gpus = shape.gpus,
                    .cpu = shape.cpu,
                    .host = shape.host,
                    .name = shape.name,
                    .is_numbered = is_numbered});
  for (std::uint32_t g = 0; g < shape.gpus; ++g) {
    const std::string stem = shape.type.substr(0, shape.type.size() - 1);
    const GpuId gpu(static_cast<std::uint32_t>(gpus_.size()));
    gpus_.push_back({.node = id,
                     .share_mode = shape.share_mode,
                     .type = type_index(is_numbered ? stem + std::to_string(g) : shape.type),
                     .slots = shape.slots,
                     .capacity = shape.vram,
                     .context = shape.context,
                     .self = set_of(gpu)});
  }
  largest_node_ = std::max(largest_node_, shape.gpus);
  if (shape.gpus > 0) {
    largest_gpu_ = std::max(largest_gpu_, shape.vram);
    const bool first = total_vram_ == Bytes(0);
    smallest_gpu_ = first ? shape.vram : std::min(smallest_gpu_, shape.vram);
    largest_context_ = std::max(largest_context_, shape.context);
  }
  total_vram_ += shape.vram * shape.gpus;
  wiring_.emplace_back();
  if (!shape.links.empty()) set_links(id, shape.links);
  return id;
}

Cluster::Wiring Cluster::wiring_of(std::vector<Link> links, std::uint32_t gpus) {
  Wiring wiring{.links = std::move(links)};
  wiring.distances.assign(std::size_t{gpus} * gpus, kFarthest);
  for (std::uint32_t g = 0; g < gpus; ++g) wiring.distances[std::size_t{g} * gpus + g] = 0;
  for (const Link& link : wiring.links) {
    wiring.distances[std::size_t{link.one} * gpus + link.other] = distance_of(link);
    wiring.distances[std::size_t{link.other} * gpus + link.one] = distance_of(link);
  }
  if (gpus > 1) wiring.same = wiring.distances[1];
  for (std::uint32_t at = 0; at < wiring.distances.size(); ++at) {
    const bool is_itself = at % (gpus + 1) == 0;
    if (!is_itself && wiring.distances[at] != wiring.same) return wiring;
  }
  wiring.distances.clear();
  return wiring;
}

void Cluster::set_links(NodeId id, std::vector<Link> links) {
  BERTH_ASSERT(are_links(links, node(id).gpus));
  Wiring& wiring = wiring_[id.value()];
  if (links.empty()) {
    wiring = {};
  } else {
    wiring = wiring_of(std::move(links), node(id).gpus);
  }
  has_links_ = std::ranges::any_of(wiring_, [](const Wiring& one) { return !one.links.empty(); });
}

std::uint16_t Cluster::distance(GpuId one, GpuId other) const {
  const NodeSpec& its_node = node(node_of(one));
  const Wiring& wiring = wiring_[node_of(one).value()];
  if (wiring.distances.empty()) return wiring.same;
  const std::size_t row = one.value() - its_node.first_gpu.value();
  return wiring.distances[row * its_node.gpus + other.value() - its_node.first_gpu.value()];
}

Cluster Cluster::without_links() const {
  Cluster bare = *this;
  for (Wiring& wiring : bare.wiring_) wiring = {};
  bare.has_links_ = false;
  return bare;
}

std::span<const NodeSpec> Cluster::nodes_of(SwitchId id) const {
  const std::uint32_t first = switch_first_[id.value()];
  const bool last = id.value() + 1 == switches();
  const std::size_t end = last ? nodes_.size() : switch_first_[id.value() + 1];
  return std::span(nodes_).subspan(first, end - first);
}

NodeShape Cluster::shape_of(NodeId id) const {
  const NodeSpec& spec = node(id);
  NodeShape shape{.name = spec.name, .gpus = spec.gpus, .cpu = spec.cpu, .host = spec.host};
  if (spec.gpus == 0) return shape;
  const GpuSpec& its_gpu = gpu(spec.first_gpu);
  shape.vram = its_gpu.capacity;
  shape.context = its_gpu.context;
  shape.type = types_[its_gpu.type];
  if (spec.is_numbered) shape.type.back() = kEachIndex;  // it is the first, and has a 0 there
  shape.share_mode = its_gpu.share_mode;
  shape.slots = its_gpu.slots;
  shape.links = wiring_[id.value()].links;
  return shape;
}

bool Cluster::begins_with(const Cluster& first) const {
  const auto begins = [](const auto& all, const auto& part) {
    return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin());
  };
  return begins(nodes_, first.nodes_) && begins(gpus_, first.gpus_) &&
         begins(wiring_, first.wiring_) && begins(switch_first_, first.switch_first_) &&
         begins(types_, first.types_);
}

}  // namespace berth
