#include "policy/kit/candidates.hpp"

#include <algorithm>
#include <iterator>

#include "policy/kit/close_gpus.hpp"

namespace berth {

Candidates::Candidates(const Ask& ask, JobId job, const Trial& trial)
    : ask_(ask),
      job_(job),
      trial_(trial),
      wanted_(static_cast<std::uint32_t>(ask.gpus().raw())),
      nodes_(static_cast<std::uint32_t>(trial.cluster().nodes().size())),
      by_count_(takes_whole(ask) && !is_choosy(ask) && ask.request.cpu == CpuMilli(0) &&
                ask.request.host == Bytes(0) && !trial.has_holds() &&
                trial.use().admission().mode == AdmissionMode::Guarantee),
      by_room_(ask.gpus() > GpuCount(0) && !takes_whole(ask) &&
               trial.use().admission().mode == AdmissionMode::Guarantee) {}

void Candidates::note(Why why) {
  if (why == Why::Reservation || (why == Why::Health && worst_ == Why::Capacity)) worst_ = why;
}

/// Most of the time of a pass is spent here.
inline bool Candidates::looks_fit(GpuId gpu) {
  const Why why = trial_.look(gpu, ask_, job_);
  if (why != Why::Fits) note(why);
  return why == Why::Fits;
}

bool Candidates::fits(GpuId gpu) {
  if (by_count_) {
    const Occupancy& use = trial_.use();
    return is_vacant(use.admission(), trial_.cluster().gpu(gpu), use.gpu(gpu));
  }
  return looks_fit(gpu);
}

bool Candidates::host_fits(NodeId node, std::uint32_t gpus) {
  const Why why = trial_.host_room(node, ask_, gpus, job_);
  if (why != Why::Fits) note(why);
  return why == Why::Fits;
}

std::uint32_t Candidates::at_most(NodeId node) const {
  const AdmissionMode mode = trial_.use().admission().mode;
  const bool needs_vacant = takes_whole(ask_) && mode == AdmissionMode::Guarantee;
  return needs_vacant ? trial_.use().node(node).vacant : trial_.cluster().node(node).gpus;
}

NodeId Candidates::next_node(NodeId from, NodeId end) const {
  return by_room_ ? trial_.use().next_with_room(ask_.request.gpu.vram, from, end) : from;
}

std::uint32_t Candidates::fitting(NodeId node) {
  if (by_count_) return trial_.use().node(node).vacant;
  if (!may_be_on(node, ask_, 1)) return 0;  // what is wrong with its GPUs is no reason
  if (by_room_ && ask_.request.gpu.vram > trial_.use().room_on(node)) return 0;
  const NodeSpec& spec = trial_.cluster().node(node);
  std::uint32_t count = 0;
  for (const GpuId gpu : spec.gpu_ids()) {
    if (looks_fit(gpu)) ++count;
  }
  while (count > 0 && !host_fits(node, std::min(count, wanted_))) {
    count = std::min(count, wanted_) - 1;
  }
  return count;
}

std::optional<NodeId> Candidates::first_node(std::uint32_t count, NodeId from, NodeId end) {
  const Occupancy& use = trial_.use();
  if (by_count_) {
    NodeId best = end;
    for (std::uint32_t k = count; k <= trial_.cluster().largest_node(); ++k) {
      best = std::min(best, use.nodes_with(k).next(from, best));
    }
    return best < end ? std::optional(best) : std::nullopt;
  }
  for (NodeId node = next_node(from, end); node < end;
       node = next_node(NodeId(node.value() + 1), end)) {
    if (at_most(node) >= count && fitting(node) >= count) return node;
  }
  return std::nullopt;
}

std::optional<NodeId> Candidates::tightest_node(std::uint32_t count) {
  const NodeId end(nodes_);
  if (by_count_) {
    for (std::uint32_t k = count; k <= trial_.cluster().largest_node(); ++k) {
      const NodeId found = trial_.use().nodes_with(k).next(NodeId(0), end);
      if (found < end) return found;
    }
    return std::nullopt;
  }
  std::optional<NodeId> best;
  std::uint32_t fewest = 0;
  for (NodeId node = next_node(NodeId(0)); node < end; node = next_node(NodeId(node.value() + 1))) {
    if (at_most(node) < count) continue;
    const std::uint32_t have = fitting(node);
    if (have >= count && (!best || have < fewest)) best = node, fewest = have;
  }
  return best;
}

void Candidates::append_fitting(NodeId node, std::uint32_t count, std::vector<GpuId>& out) {
  const NodeSpec& spec = trial_.cluster().node(node);
  const GpuId end = spec.end_gpu();
  for (GpuId gpu = spec.first_gpu; gpu < end && count > 0; gpu = GpuId(gpu.value() + 1)) {
    if (fits(gpu)) out.push_back(gpu), --count;
  }
}

Placement Candidates::take_from(NodeId node, std::uint32_t count) {
  Placement placement{.gpus = {}, .host = node};
  placement.gpus.reserve(count);
  append_fitting(node, count, placement.gpus);
  return placement;
}

void Candidates::append_closest(NodeId node, std::uint32_t count, std::vector<GpuId>& out) {
  if (!trial_.cluster().is_uneven(node)) return append_fitting(node, count, out);
  std::vector<GpuId> fitting;
  append_fitting(node, trial_.cluster().node(node).gpus, fitting);
  std::ranges::copy(closest_of(trial_.cluster(), {}, fitting, count), std::back_inserter(out));
}

Placement Candidates::take_closest(NodeId node, std::uint32_t count) {
  Placement placement{.gpus = {}, .host = node};
  append_closest(node, count, placement.gpus);
  return placement;
}

Placed Candidates::gather_in_order() {
  if (!may_suffice()) return refusal();
  std::vector<GpuId> gpus;
  gpus.reserve(wanted_);
  NodeId node = next_node(NodeId(0));
  for (; gpus.size() < wanted_ && node < NodeId(nodes_);
       node = next_node(NodeId(node.value() + 1))) {
    if (by_count_ && trial_.use().node(node).vacant == 0) continue;
    const auto missing = wanted_ - static_cast<std::uint32_t>(gpus.size());
    append_fitting(node, std::min(missing, fitting(node)), gpus);
  }
  if (gpus.size() < wanted_) return refusal();
  return placement_on(trial_.cluster(), std::move(gpus));
}

Placed Candidates::first_host() {
  for (NodeId node(0); node < NodeId(nodes_); node = NodeId(node.value() + 1)) {
    if (host_fits(node, 0)) return Placement{.gpus = {}, .host = node};
  }
  return refusal();
}

Placement placement_on(const Cluster& cluster, std::vector<GpuId> gpus) {
  std::ranges::sort(gpus);
  const NodeId host = cluster.node_of(gpus.front());
  return {.gpus = std::move(gpus), .host = host};
}

}  // namespace berth
