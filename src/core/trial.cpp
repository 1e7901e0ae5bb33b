#include "core/trial.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace berth {

namespace {

/// True if a job planned to run `ask.planned` from `now` is gone when the hold may begin.
bool is_gone_by(const KeptRoom& room, const Ask& ask, Instant now) {
  return room.until != kNever && later(now, ask.planned) <= room.until;
}

/// What is promised of one GPU from some instant on.
struct Promised {
  Bytes charges{0};
  GpuMilli milli{0};
  std::int64_t tenants = 0;
  bool alone = false;

  void add(const Ask& ask, const GpuSpec& gpu) {
    charges += charge_on(ask, gpu);
    milli += ask.request.gpu.milli;
    alone = alone || ask.alone();
    ++tenants;
  }
};

/// The memory part, by the rule that the hold itself was placed by: a stricter one would let two
/// holds keep each other out. Measured figures say nothing of memory to come.
bool memory_fits(Bytes charges, const GpuSpec& gpu, const GpuUse& use, const Admission& admission) {
  switch (admission.mode) {
    case AdmissionMode::Guarantee:
      return use.foreign + charges + guard_band(admission, gpu) <= gpu.capacity;
    case AdmissionMode::Declared:
      return charges <= gpu.capacity;
    case AdmissionMode::FreeMemory:
    case AdmissionMode::None:
      return true;
  }
  return false;
}

/// Room for `ask` beside what is promised and what outlasts the hold's start on its i-th GPU.
bool fits_beside(const KeptRoom& room, std::size_t i, Promised promised, const Ask& ask,
                 const GpuSpec& gpu, const GpuUse& use, const Admission& admission) {
  if (admission.mode == AdmissionMode::None) return true;
  promised.add(ask, gpu);
  if (promised.alone) return false;
  if (room.tenants[i] + promised.tenants > gpu.slots) return false;
  if (room.milli[i] + promised.milli > kWholeGpu) return false;
  return memory_fits(room.charged[i] + promised.charges, gpu, use, admission);
}

/// The position of a GPU among those of a hold.
std::optional<std::size_t> index_of(const Hold& hold, GpuId gpu) {
  const auto& held = hold.placement.gpus;
  const auto found = std::ranges::lower_bound(held, gpu);
  if (found == held.end() || *found != gpu) return std::nullopt;
  return static_cast<std::size_t>(found - held.begin());
}

}  // namespace

bool Trial::holds_allow(GpuId gpu, const Ask& ask, JobId job) const {
  const GpuSpec& spec = cluster_.gpu(gpu);
  Promised promised;  // to this hold and those before it
  for (const KeptRoom& room : kept_) {
    const auto i = index_of(room.hold, gpu);
    if (room.hold.job == job || !i) continue;
    promised.add(room.hold.ask, spec);
    if (is_gone_by(room, ask, now_)) continue;
    const GpuUse& use = scratch_.gpu(gpu);
    if (!fits_beside(room, *i, promised, ask, spec, use, scratch_.admission())) return false;
  }
  return true;
}

Why Trial::host_room(NodeId node, const Ask& ask, std::size_t here, JobId job) const {
  if (!scratch_.node(node).healthy) return Why::Health;
  if (!host_fits(cluster_, scratch_, node, ask, here)) return Why::Capacity;
  const NodeSpec& spec = cluster_.node(node);
  const auto all = static_cast<std::size_t>(ask.gpus().raw());
  CpuMilli cpu = scratch_.node(node).cpu + CpuMilli(host_part(ask.request.cpu.raw(), here, all));
  Bytes host = scratch_.node(node).host + Bytes(host_part(ask.request.host.raw(), here, all));
  for (const KeptRoom& room : kept_) {  // lent only to jobs that leave in time
    const Hold& hold = room.hold;
    if (hold.job == job || !is_on(hold, node)) continue;
    cpu += CpuMilli(part_on(hold, node, hold.ask.request.cpu.raw()));
    host += Bytes(part_on(hold, node, hold.ask.request.host.raw()));
    if (is_gone_by(room, ask, now_)) continue;
    if (cpu > spec.cpu || host > spec.host) return Why::Reservation;
  }
  return Why::Fits;
}

std::size_t Trial::gpus_on(const Hold& hold, NodeId node) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      hold.placement.gpus, [&](GpuId gpu) { return cluster_.node_of(gpu) == node; }));
}

bool Trial::is_on(const Hold& hold, NodeId node) const {
  return hold.placement.gpus.empty() ? hold.placement.host == node : gpus_on(hold, node) > 0;
}

std::int64_t Trial::part_on(const Hold& hold, NodeId node, std::int64_t amount) const {
  return host_part(amount, gpus_on(hold, node), hold.placement.gpus.size());
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
    log_.push_back({scratch_.gpu(share.gpu), {}, Bytes(0), share.gpu.value(), false});
  }
  for_each_node(cluster_, grant, [&](NodeId node, std::size_t) {
    log_.push_back({{}, scratch_.node(node), scratch_.room_on(node), node.value(), true});
  });
}

Grant Trial::put(const Ask& ask, const Placement& placement) {
  const auto& gpus = placement.gpus;
  BERTH_ASSERT(std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end());
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
  BERTH_ASSERT(mark <= log_.size());
  for (; log_.size() > mark; log_.pop_back()) {
    const Scratch::Saved& saved = log_.back();
    if (saved.is_node) {
      scratch_.put_back(NodeId(saved.index), saved.node, saved.room);
    } else {
      scratch_.put_back(GpuId(saved.index), saved.gpu);
    }
  }
}

}  // namespace berth
