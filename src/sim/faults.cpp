#include "sim/faults.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "core/amounts.hpp"

namespace berth::sim {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kStream = std::uint64_t{2} << 32;  ///< Apart from those of jobs.
constexpr std::uint64_t kLn2 = 0xb17217f8;                 ///< ln 2 x 2^32.

/// -log2(u / 2^64) x 2^32: whole part by the leading zeros, 32 places by squaring.
std::uint64_t minus_log2(std::uint64_t u) {
  const int zeros = std::countl_zero(u);
  std::uint64_t mantissa = u << zeros;  // in [1, 2) x 2^63
  std::uint64_t places = 0;
  for (int i = 0; i < 32; ++i) {
    const Wide square = Wide{mantissa} * mantissa;  // in [1, 4) x 2^126
    const bool is_two = (square >> 127) != 0;
    places = places << 1 | (is_two ? 1U : 0U);
    mantissa = static_cast<std::uint64_t>(square >> (is_two ? 64 : 63));
  }
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - places;
}

}  // namespace

Duration draw_exponential(Rng& rng, Duration mean) {
  const std::uint64_t u = rng.next() | 1;
  const auto nats = static_cast<std::uint64_t>((Wide{minus_log2(u)} * kLn2) >> 32);
  const Wide time = (Wide{static_cast<std::uint64_t>(micros(mean))} * nats) >> 32;
  return std::max(Duration(1), Duration(static_cast<std::int64_t>(time)));
}

Expected<FaultModel> parse_faults(std::string_view text) {
  FaultModel model;
  const auto bad = [&] {
    return fail(ErrorCode::InvalidArgument,
                "--faults: '" + std::string(text) + "' is not node-mtbf=TIME,repair=TIME");
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return bad();
    const auto time = parse_duration(part.substr(equals + 1));
    if (!time) return bad();
    if (part.substr(0, equals) == "node-mtbf") {
      model.node_mtbf = *time;
    } else if (part.substr(0, equals) == "repair") {
      model.repair = *time;
    } else {
      return bad();
    }
  }
  if (!model.is_on()) return bad();
  return model;
}

Faults::Faults(const Cluster& cluster, const FaultModel& model, std::uint64_t seed, Instant from)
    : model_(model) {
  if (!model.is_on()) return;
  for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
    nodes_.push_back({.rng = Rng(seed, kStream + n)});
    next_.emplace(later(from, draw_exponential(nodes_[n].rng, model.node_mtbf)), NodeId(n));
  }
}

std::optional<Faults::Change> Faults::take(Instant now) {
  if (next() > now) return std::nullopt;
  const auto [at, id] = *next_.begin();
  next_.erase(next_.begin());
  Node& node = nodes_[id.value()];
  node.up = !node.up;
  if (node.up) {
    --down_;
  } else {
    ++down_;
  }
  const Duration mean = node.up ? model_.node_mtbf : model_.repair;
  next_.emplace(later(at, draw_exponential(node.rng, mean)), id);
  return Change{id, node.up};
}

}  // namespace berth::sim
