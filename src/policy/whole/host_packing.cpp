#include "policy/whole/host_packing.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/wide.hpp"

namespace berth {

namespace {

struct FreeOn {
  NodeId node;
  std::size_t gpus;
};

/// Nodes with GPUs that the ask may have, whatever their hosts carry.
std::vector<FreeOn> open_gpus(const Ask& ask, JobId job, const Trial& trial) {
  std::vector<FreeOn> free;
  for (const NodeId node : trial.cluster().node_ids()) {
    const auto gpus = std::ranges::count_if(trial.cluster().node(node).gpu_ids(), [&](GpuId gpu) {
      return trial.look(gpu, ask, job) == Why::Fits;
    });
    if (gpus > 0) free.push_back({.node = node, .gpus = static_cast<std::size_t>(gpus)});
  }
  return free;
}

/// The node that holds the whole job, else those with the fewest GPUs first, so many of each.
std::vector<FreeOn> nodes_to_relieve(std::vector<FreeOn> free, std::size_t wanted) {
  const auto whole =
      std::ranges::find_if(free, [&](const FreeOn& on) { return on.gpus >= wanted; });
  if (wanted > 1 && whole != free.end()) return {{.node = whole->node, .gpus = wanted}};
  std::ranges::stable_sort(free, {}, &FreeOn::gpus);
  std::vector<FreeOn> nodes;
  for (const FreeOn& on : free) {
    if (wanted == 0) break;
    nodes.push_back({.node = on.node, .gpus = std::min(on.gpus, wanted)});
    wanted -= nodes.back().gpus;
  }
  return nodes;
}

std::size_t nodes_of(const HostSeat& seat, const Cluster& cluster) {
  std::size_t nodes = 0;
  for_each_node(cluster, seat.grant, [&](NodeId, std::size_t) { ++nodes; });
  return nodes;
}

/// On fewer nodes first, then with more cores and more host memory on each GPU.
bool gives_first(const HostSeat& a, const HostSeat& b, const Cluster& cluster) {
  const std::size_t a_nodes = nodes_of(a, cluster);
  const std::size_t b_nodes = nodes_of(b, cluster);
  if (a_nodes != b_nodes) return a_nodes < b_nodes;
  const std::int64_t a_gpus = a.ask.gpus().raw();
  const std::int64_t b_gpus = b.ask.gpus().raw();
  const Wide a_cpu = Wide{a.ask.request.cpu.raw()} * b_gpus;
  const Wide b_cpu = Wide{b.ask.request.cpu.raw()} * a_gpus;
  if (a_cpu != b_cpu) return a_cpu > b_cpu;
  return Wide{a.ask.request.host.raw()} * b_gpus > Wide{b.ask.request.host.raw()} * a_gpus;
}

}  // namespace

bool HostPacker::add(const HostChoice& choice) {
  if (!tally_.allows(choice.job, choice.wants.gpus())) return false;
  if (how_ != HostPacking::Tune) {
    return put(choice, how_ == HostPacking::Fair ? choice.fair : choice.wants);
  }
  if (put(choice, choice.wants)) return true;
  const Ask modest = choice.modest();
  if (modest != choice.wants && put(choice, modest)) return true;
  const Trial::Mark mark = trial_.mark();
  auto seats = seats_;
  auto on_node = on_node_;
  make_room(choice.job, modest);
  if (put(choice, modest)) return true;
  trial_.rollback(mark);
  seats_ = std::move(seats);
  on_node_ = std::move(on_node);
  return false;
}

bool HostPacker::put(const HostChoice& choice, const Ask& ask) {
  Placed place = placer_.place(ask, choice.job, trial_);
  if (!place) return false;
  Grant grant = trial_.put(ask, *place);
  tally_.take(choice.job, ask.gpus());
  for_each_node(trial_.cluster(), grant,
                [&](NodeId node, std::size_t) { on_node_[node].push_back(seats_.size()); });
  seats_.push_back(
      {.choice = choice, .ask = ask, .place = std::move(*place), .grant = std::move(grant)});
  return true;
}

void HostPacker::make_room(JobId job, const Ask& ask) {
  const auto wanted = static_cast<std::size_t>(ask.gpus().raw());
  for (const FreeOn& on : nodes_to_relieve(open_gpus(ask, job, trial_), wanted)) {
    reduce_on(on.node, on.gpus, ask);
  }
}

void HostPacker::reduce_on(NodeId node, std::size_t gpus, const Ask& ask) {
  const auto all = static_cast<std::size_t>(ask.gpus().raw());
  const NodeSpec& spec = trial_.cluster().node(node);
  const NodeUse use = trial_.use().node(node);
  std::int64_t cpu = host_part(ask.request.cpu.raw(), gpus, all) - (spec.cpu - use.cpu).raw();
  std::int64_t host = host_part(ask.request.host.raw(), gpus, all) - (spec.host - use.host).raw();
  if (cpu <= 0 && host <= 0) return;
  std::vector<std::size_t>& there = on_node_[node];
  std::ranges::stable_sort(there, [&](std::size_t a, std::size_t b) {
    return gives_first(seats_[a], seats_[b], trial_.cluster());
  });
  for (const std::size_t i : there) {
    if (cpu <= 0 && host <= 0) return;
    HostSeat& seat = seats_[i];
    const Surplus surplus = surplus_on(node, seat);
    cpu -= surplus.cpu;
    host -= surplus.host;
    reduce(seat);
  }
}

void HostPacker::reduce(HostSeat& seat) {
  trial_.take(seat.grant);
  seat.ask = seat.choice.modest();
  seat.grant = trial_.put(seat.ask, seat.place);
  seat.is_reduced = true;
}

HostPacker::Surplus HostPacker::surplus_on(NodeId node, const HostSeat& seat) const {
  const std::size_t all = seat.place.gpus.size();
  const auto here = static_cast<std::size_t>(std::ranges::count_if(
      seat.place.gpus, [&](GpuId gpu) { return trial_.cluster().node_of(gpu) == node; }));
  const auto beyond = [&](auto has, auto fair) {
    return std::max<std::int64_t>(
        0, host_part(has.raw(), here, all) - host_part(fair.raw(), here, all));
  };
  const Request& fair = seat.choice.fair.request;
  return {.cpu = beyond(seat.ask.request.cpu, fair.cpu),
          .host = beyond(seat.ask.request.host, fair.host)};
}

}  // namespace berth
