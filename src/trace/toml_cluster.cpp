// berth's own cluster file: TOML, one [[node]] table for each kind of node.
#include <algorithm>
#include <map>

#include "core/text/amounts.hpp"
#include "trace/rows.hpp"
#include "trace/toml_value.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostSlots = 65'535;

/// One kind of node, as a table says it.
struct NodeKind {
  NodeShape shape{.name = "n", .gpus = 0, .vram = kUnknownCard};
  std::int64_t count = 1;
  std::string switch_name;
};

Expected<Bytes> size_of(const TomlValue& value) {
  const auto text = value.node.value_exact<std::string>();
  const auto bytes = text ? parse_size(*text) : Expected<Bytes>(value.refuse(""));
  if (!bytes) return value.refuse("a size such as \"80G\", up to 1024T");
  return bytes;
}

struct Key {
  std::string_view name;
  Expected<void> (*set)(NodeKind&, const TomlValue&);
};

/// Every key of a node: doc/traces.md says what they mean.
constexpr auto kKeys = std::to_array<Key>({
    {"name", [](NodeKind& k, const TomlValue& v) { return put(k.shape.name, v.text()); }},
    {"count",
     [](NodeKind& k, const TomlValue& v) { return put(k.count, v.number(1, kMostNodes)); }},
    {"gpus",
     [](NodeKind& k, const TomlValue& v) { return put(k.shape.gpus, v.number(0, kMostGpus)); }},
    {"vram", [](NodeKind& k, const TomlValue& v) { return put(k.shape.vram, size_of(v)); }},
    {"type", [](NodeKind& k, const TomlValue& v) { return put(k.shape.type, v.text()); }},
    {"slots",
     [](NodeKind& k, const TomlValue& v) { return put(k.shape.slots, v.number(1, kMostSlots)); }},
    {"cpu",
     [](NodeKind& k, const TomlValue& v) {
       const auto cores = v.number(1, 100'000);
       return put(k.shape.cpu, cores ? Expected<CpuMilli>(CpuMilli(*cores * 1000))
                                     : Expected<CpuMilli>(std::unexpected(cores.error())));
     }},
    {"mem", [](NodeKind& k, const TomlValue& v) { return put(k.shape.host, size_of(v)); }},
    {"context", [](NodeKind& k, const TomlValue& v) { return put(k.shape.context, size_of(v)); }},
    {"switch", [](NodeKind& k, const TomlValue& v) { return put(k.switch_name, v.text()); }},
});

std::string known_keys() {
  std::string names;
  for (const Key& key : kKeys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  return names;
}

Expected<NodeKind> kind_of(const toml::table& table, std::string_view file) {
  NodeKind kind;
  for (const auto& [name, node] : table) {
    const std::string where = place_of(node, file) + ": " + shown(name.str());
    const auto* const key = std::ranges::find(kKeys, name.str(), &Key::name);
    if (key == kKeys.end()) {
      return fail(ErrorCode::BadData, where + ": unknown key; valid keys: " + known_keys());
    }
    if (auto done = key->set(kind, {node, where}); !done) return std::unexpected(done.error());
  }
  return kind;
}

/// Kinds by their switch, in the order in which switches are first named.
using Switches = std::vector<std::vector<NodeKind>>;

Expected<Switches> switches_of(const toml::array& nodes, std::string_view file) {
  Switches switches;
  std::map<std::string, std::size_t> places;
  for (const toml::node& node : nodes) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      return fail(ErrorCode::BadData, place_of(node, file) + ": node: must be [[node]] tables");
    }
    auto kind = kind_of(*table, file);
    if (!kind) return std::unexpected(kind.error());
    const std::size_t place = places.try_emplace(kind->switch_name, switches.size()).first->second;
    if (place == switches.size()) switches.emplace_back();
    switches[place].push_back(std::move(*kind));
  }
  return switches;
}

/// One node keeps its name; several are numbered.
Expected<void> add_kind(Cluster& cluster, const NodeKind& kind, std::string_view file) {
  for (std::int64_t i = 0; i < kind.count; ++i) {
    NodeShape shape = kind.shape;
    if (kind.count > 1) shape.name += std::to_string(i);
    if (auto added = add_node(cluster, shape, file); !added) return added;
  }
  return {};
}

}  // namespace

Expected<Cluster> read_toml_cluster(std::string_view text, std::string_view file) {
  const auto parsed = parse_toml(text, file);
  if (!parsed) return std::unexpected(parsed.error());
  const toml::table& table = *parsed;
  for (const auto& [name, node] : table) {
    if (name.str() == "node") continue;
    return fail(ErrorCode::BadData, place_of(node, file) + ": " + shown(name.str()) +
                                        ": unknown key; valid keys: [[node]]");
  }
  const toml::array* const nodes = table["node"].as_array();
  if (nodes == nullptr || nodes->empty()) {
    return fail(ErrorCode::BadData, std::string(file) + ": no [[node]] table");
  }
  const auto switches = switches_of(*nodes, file);
  if (!switches) return std::unexpected(switches.error());
  Cluster cluster;
  for (const std::vector<NodeKind>& kinds : *switches) {
    cluster.add_switch();
    for (const NodeKind& kind : kinds) {
      if (auto added = add_kind(cluster, kind, file); !added) {
        return std::unexpected(added.error());
      }
    }
  }
  return cluster;
}

}  // namespace berth::trace
