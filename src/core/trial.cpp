#include "core/trial.hpp"

#include <algorithm>

namespace berth {

namespace {

/// True if a job planned to run `ask.planned` from `now` is gone when the hold begins.
bool is_gone_by(const Hold& hold, const Ask& ask, Instant now) {
  return hold.from != kNever && later(now, ask.planned) <= hold.from;
}

/// Room for `ask` beside the held job on its i-th GPU, counting only what outlasts the hold's
/// start.
bool fits_beside(const Hold& hold, std::size_t i, const Ask& ask, const GpuSpec& gpu,
                 const GpuUse& use, const Admission& admission) {
  if (hold.ask.alone() || ask.alone()) return false;
  if (hold.lent_tenants[i] + 2 > gpu.slots) return false;
  const GpuMilli milli = hold.lent_milli[i] + hold.ask.request.gpu.milli + ask.request.gpu.milli;
  if (milli > kWholeGpu) return false;
  const Bytes charges = hold.lent[i] + charge_on(hold.ask, gpu) + charge_on(ask, gpu);
  return use.foreign + charges + guard_band(admission, gpu) <= gpu.capacity;
}

}  // namespace

bool Trial::holds_allow(GpuId gpu, const Ask& ask, JobId job) const {
  for (const Hold& hold : holds_) {
    if (hold.job == job || is_gone_by(hold, ask, now_)) continue;
    const auto& held = hold.placement.gpus;
    const auto found = std::ranges::lower_bound(held, gpu);
    if (found == held.end() || *found != gpu) continue;
    const auto i = static_cast<std::size_t>(found - held.begin());
    const GpuSpec& spec = cluster_.gpu(gpu);
    if (!fits_beside(hold, i, ask, spec, scratch_.gpu(gpu), scratch_.admission())) return false;
  }
  return true;
}

Why Trial::host_room(NodeId node, const Ask& ask, std::size_t here, JobId job) const {
  if (!scratch_.node(node).healthy) return Why::Health;
  if (!host_fits(cluster_, scratch_, node, ask, here)) return Why::Capacity;
  for (const Hold& hold : holds_) {  // cores and memory are lent only to those who leave in time
    if (hold.job == job || is_gone_by(hold, ask, now_)) continue;
    if (!host_fits_beside(hold, node, ask, here)) return Why::Reservation;
  }
  return Why::Fits;
}

bool Trial::host_fits_beside(const Hold& hold, NodeId node, const Ask& ask,
                             std::size_t here) const {
  const auto held_here = static_cast<std::size_t>(std::ranges::count_if(
      hold.placement.gpus, [&](GpuId gpu) { return cluster_.node_of(gpu) == node; }));
  if (held_here == 0 && (hold.placement.host != node || !hold.placement.gpus.empty())) return true;
  const Request& held = hold.ask.request;
  const Request& asked = ask.request;
  const std::size_t all_held = hold.placement.gpus.size();
  const auto all = static_cast<std::size_t>(ask.gpus().raw());
  const std::int64_t cpu =
      host_part(held.cpu.raw(), held_here, all_held) + host_part(asked.cpu.raw(), here, all);
  const std::int64_t host =
      host_part(held.host.raw(), held_here, all_held) + host_part(asked.host.raw(), here, all);
  const NodeSpec& spec = cluster_.node(node);
  const NodeUse& use = scratch_.node(node);
  return use.cpu + CpuMilli(cpu) <= spec.cpu && use.host + Bytes(host) <= spec.host;
}

Why Trial::look(const Placement& placement, const Ask& ask, JobId job) const {
  if (placement.gpus.empty()) return host_room(placement.host, ask, 0, job);
  for (std::size_t i = 0; i < placement.gpus.size();) {
    const NodeId node = cluster_.node_of(placement.gpus[i]);
    std::size_t end = i;
    for (; end < placement.gpus.size() && cluster_.node_of(placement.gpus[end]) == node; ++end) {
      const Why why = look(placement.gpus[end], ask, job);
      if (why != Why::Fits) return why;
    }
    const Why why = host_room(node, ask, end - i, job);
    if (why != Why::Fits) return why;
    i = end;
  }
  return Why::Fits;
}

void Trial::save(const Grant& grant) {
  for (const Share& share : grant.shares) {
    log_.push_back({scratch_.gpu(share.gpu), {}, share.gpu.value(), false});
  }
  for_each_node(cluster_, grant, [&](NodeId node, std::size_t) {
    log_.push_back({{}, scratch_.node(node), node.value(), true});
  });
}

Grant Trial::put(const Ask& ask, const Placement& placement) {
  Grant grant = scratch_.grant_for(cluster_, ask, placement);
  put(grant);
  return grant;
}

void Trial::put(const Grant& grant) {
  save(grant);
  scratch_.put(cluster_, grant);
}

void Trial::take(const Grant& grant) {
  save(grant);
  scratch_.take(cluster_, grant);
}

void Trial::rollback(Mark mark) {
  for (; log_.size() > mark; log_.pop_back()) {
    const Saved& saved = log_.back();
    if (saved.is_node) {
      scratch_.set_node(NodeId(saved.index), saved.node);
    } else {
      scratch_.set_gpu(cluster_, GpuId(saved.index), saved.gpu);
    }
  }
}

}  // namespace berth
