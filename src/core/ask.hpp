// A request in the form that a placer takes: the charge per GPU, and the planned run time.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/boxed.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/request.hpp"

namespace berth {

/// The nodes where a job's processes are, each as often as it has GPUs there, or once without GPUs;
/// ascending. Most jobs are at home nowhere: they go on anywhere.
using Home = Boxed<std::vector<NodeId>>;

struct Ask {
  Request request;              ///< `gpu.vram` and `gpu.sharing` are those to be charged.
  Duration planned = kForever;  ///< Run time still to come by limit or estimate; kForever: none.
  std::uint64_t barred = 0;     ///< It keeps off the GPUs of these reservations, a bit for each.
  Home home = {};               ///< Where it must go on; nowhere: anywhere.

  constexpr GpuCount gpus() const { return request.gpu.count; }
  constexpr bool alone() const { return request.gpu.sharing == Sharing::Alone; }
  auto operator<=>(const Ask&) const = default;
};

/// The GPUs of a job (ascending), or the node of a job without GPUs.
struct Placement {
  std::vector<GpuId> gpus;
  NodeId host;  ///< The node of the first GPU.

  bool operator==(const Placement&) const = default;
};

/// The part of a grant on one GPU.
struct Share {
  GpuId gpu;
  Bytes charge{0};
  Bytes granted{0};  ///< The charge as admitted; the rest of `charge` is a measured overrun.

  auto operator<=>(const Share&) const = default;
};

/// A right to the GPUs' compute, or the use of what others leave; the simulator ignores it.
enum class Role : std::uint8_t { Owner, Guest };

/// A placement with the charges taken for it.
struct Grant {
  std::vector<Share> shares;  ///< Ascending by GPU.
  NodeId host;
  CpuMilli cpu{0};
  Bytes memory{0};    ///< Host memory.
  GpuMilli milli{0};  ///< On each GPU.
  Sharing sharing = Sharing::Shared;
  Role role = Role::Owner;
  /// TimeSlice or Mps: how the policy would have it served beside other tenants. A wish: what the
  /// user said counts before it, and not every machine can. The simulator goes by its own model.
  ShareMode share = ShareMode::TimeSlice;

  GpuCount gpus() const { return GpuCount(static_cast<std::int64_t>(shares.size())); }
  bool operator==(const Grant&) const = default;
};

/// The placement of a grant.
inline Placement placement_of(const Grant& grant) {
  Placement placement{.gpus = {}, .host = grant.host};
  placement.gpus.reserve(grant.shares.size());
  for (const Share& share : grant.shares) placement.gpus.push_back(share.gpu);
  return placement;
}

/// Host cores or memory that `here` of a job's `all` GPUs bring to their node, rounded up.
constexpr std::int64_t host_part(std::int64_t amount, std::size_t here, std::size_t all) {
  if (all == 0 || here == all) return amount;
  const auto part = static_cast<std::int64_t>(here);
  const auto whole = static_cast<std::int64_t>(all);
  return amount / whole * part + (amount % whole * part + whole - 1) / whole;
}

/// True if `here` of the ask's GPUs may be on this node; 0: it has none, and may be there.
constexpr bool may_be_on(NodeId node, const Ask& ask, std::size_t here) {
  const std::vector<NodeId>* const home = ask.home.if_set();
  if (home == nullptr || home->empty()) return true;
  const auto there = static_cast<std::size_t>(std::ranges::count(*home, node));
  return there >= std::max<std::size_t>(1, here);
}

/// The bytes `ask` is charged on a GPU with this spec: its request plus a context per process.
constexpr Bytes charge_on(const Ask& ask, const GpuSpec& gpu) {
  return ask.request.gpu.vram + gpu.context * ask.request.gpu.processes;
}

}  // namespace berth
