#include "slurm/nodes.hpp"

#include <algorithm>
#include <set>

namespace berth::slurm {

namespace {

/// `n3:5`.
std::string text_of(GpuId gpu, const Cluster& cluster) {
  const NodeSpec& node = cluster.node(cluster.node_of(gpu));
  return node.name + ":" + std::to_string(gpu.value() - node.first_gpu.value());
}

/// `n2` before `n10`: by text, and numbers in it by value.
bool goes_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    const auto cut = [&](std::string_view& text) {
      const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
      std::string_view number = text.substr(0, end);
      text.remove_prefix(end);
      number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
      return number;
    };
    const std::string_view one = cut(a);
    const std::string_view other = cut(b);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
  }
  return a.size() < b.size();
}

Expected<NodeShape> shape_of(const NodeRecord& node, const Shards& shards, std::uint16_t slots) {
  const std::int64_t each = shards.per.begin()->second;
  std::uint32_t next = 0;
  for (const auto& [index, count] : shards.per) {
    const std::string where = "node " + node.name + ": shard:" + shards.stem;
    if (index != next++) {
      return fail(ErrorCode::BadData, where + std::to_string(next - 1) +
                                          " is missing; the types must end with 0, 1, 2");
    }
    if (count != each) {
      return fail(ErrorCode::BadData, where + std::to_string(index) + ": " + std::to_string(count) +
                                          " shards, " + shards.stem + "0 has " +
                                          std::to_string(each) +
                                          "; GPUs of one node must have the same memory");
    }
  }
  return NodeShape{.name = node.name,
                   .gpus = next,
                   .vram = Bytes(each * kShard),
                   .type = shards.stem + "#",
                   .slots = slots,
                   .cpu = CpuMilli(std::int64_t{node.cpus} * 1000),
                   .host = node.memory};
}

}  // namespace

Expected<Cluster> cluster_of(const std::vector<NodeRecord>& nodes, std::uint16_t slots,
                             const std::optional<Cluster>& before) {
  std::vector<const NodeRecord*> sorted;
  for (const NodeRecord& node : nodes) sorted.push_back(&node);
  std::ranges::sort(sorted, [](const NodeRecord* a, const NodeRecord* b) {
    return goes_before(a->name, b->name);
  });
  Cluster cluster;
  cluster.add_switch();
  std::set<std::string_view> added;
  const Cluster none;
  const Cluster& first = before ? *before : none;
  for (const NodeId id : first.node_ids()) {
    NodeShape shape = first.shape_of(id);
    added.insert(first.node(id).name);
    const auto record = std::ranges::find(nodes, shape.name, &NodeRecord::name);
    const Shards shards = record == nodes.end() ? Shards() : parse_shards(record->gres);
    if (!shards.per.empty()) {
      auto now = shape_of(*record, shards, slots);
      if (!now) return std::unexpected(now.error());
      const bool is_same =
          now->gpus == shape.gpus && now->vram == shape.vram && now->slots == shape.slots;
      if (!is_same) shape = std::move(*now);
    }
    cluster.add_node(shape);
  }
  for (const NodeRecord* const node : sorted) {
    if (added.contains(node->name)) continue;
    const Shards shards = parse_shards(node->gres);
    if (shards.per.empty()) continue;
    const auto shape = shape_of(*node, shards, slots);
    if (!shape) return std::unexpected(shape.error());
    cluster.add_node(*shape);
  }
  if (!cluster.nodes().empty()) return cluster;
  return fail(ErrorCode::NotFound,
              "none of Slurm's " + std::to_string(nodes.size()) +
                  " nodes has shards of a type for each GPU, such as shard:g0:80; doc/slurm.md "
                  "shows how slurm.conf and gres.conf say that");
}

std::string limits_of(const Cluster& cluster) {
  Bytes largest{0};
  for (const GpuId id : cluster.gpu_ids()) largest = std::max(largest, cluster.gpu(id).capacity);
  return "gib " + std::to_string(largest.raw() / kShard) + "\ngpus " +
         std::to_string(cluster.gpus().size()) + "\n";
}

std::vector<Device> devices_of(const Cluster& cluster) {
  std::vector<Device> devices;
  for (const GpuId id : cluster.gpu_ids()) {
    const GpuSpec& gpu = cluster.gpu(id);
    Device device;
    device.index = device.board = id.value();
    device.name = device.uuid = text_of(id, cluster);
    device.total = gpu.capacity;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::optional<NodeId> node_named(const Cluster& cluster, std::string_view name) {
  const auto found = std::ranges::find(cluster.nodes(), name, &NodeSpec::name);
  if (found == cluster.nodes().end()) return std::nullopt;
  return NodeId(static_cast<std::uint32_t>(found - cluster.nodes().begin()));
}

Expected<Place> place_of(const Grant& grant, const Cluster& cluster) {
  if (grant.shares.empty()) {
    return Place{.nodes = cluster.node(grant.host).name, .gres = "", .text = ""};
  }
  std::map<NodeId, Shards> by_node;
  Place place;
  for (const Share& share : grant.shares) {
    const NodeId node = cluster.node_of(share.gpu);
    const std::uint32_t index = share.gpu.value() - cluster.node(node).first_gpu.value();
    const std::string& type = cluster.type_names()[cluster.gpu(share.gpu).type];
    Shards& shards = by_node[node];
    shards.stem = type.substr(0, type.size() - std::to_string(index).size());
    shards.per[index] = shards_of(share.charge);
    place.text += (place.text.empty() ? "" : ",") + text_of(share.gpu, cluster);
  }
  const Shards& first = by_node.begin()->second;
  for (const auto& [node, shards] : by_node) {
    if (shards != first) {
      return fail(
          ErrorCode::Conflict,
          "Slurm gives a job the same GPU indices on each of its nodes, and this place is " +
              place.text);
    }
    place.nodes += (place.nodes.empty() ? "" : ",") + cluster.node(node).name;
  }
  place.node_count = static_cast<std::uint32_t>(by_node.size());
  place.gres = shard_request(first);
  return place;
}

GpuTypes types_of(const Shards& shards, const Cluster& cluster) {
  GpuTypes types = 0;
  const auto names = cluster.type_names();
  for (const auto& [index, count] : shards.per) {
    const auto found = std::ranges::find(names, shards.stem + std::to_string(index));
    if (found != names.end()) types |= GpuTypes{1} << (found - names.begin());
  }
  return types;
}

std::map<GpuId, Bytes> held_by(const JobRecord& job, const Cluster& cluster) {
  std::map<GpuId, Bytes> held;
  for (std::size_t i = 0; i < std::min(job.nodes.size(), job.gres_there.size()); ++i) {
    const auto node = node_named(cluster, job.nodes[i]);
    if (!node) continue;
    const NodeSpec& spec = cluster.node(*node);
    for (const auto& [index, count] : parse_shards(job.gres_there[i]).per) {
      if (index < spec.gpus) held[GpuId(spec.first_gpu.value() + index)] += Bytes(count * kShard);
    }
  }
  return held;
}

std::string missing_from(const JobRecord& job, const Grant& grant, const Cluster& cluster) {
  if (job.phase != Phase::Running || job.is_completing) return "";
  const auto held = held_by(job, cluster);
  const std::size_t told = job.gres_there.empty() ? job.nodes.size() : job.gres_there.size();
  std::string missing;
  for (const Share& share : grant.shares) {
    const NodeSpec& node = cluster.node(cluster.node_of(share.gpu));
    const auto place = std::ranges::find(job.nodes, node.name) - job.nodes.begin();
    const bool is_told = place < std::ssize(job.nodes) && static_cast<std::size_t>(place) < told;
    if (!is_told || held.contains(share.gpu) || shards_of(share.charge) == 0) continue;
    missing += (missing.empty() ? "" : ",") + text_of(share.gpu, cluster);
  }
  return missing;
}

}  // namespace berth::slurm
