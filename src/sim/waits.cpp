#include "sim/waits.hpp"

#include <algorithm>
#include <optional>

#include "engine/explain.hpp"

namespace berth::sim {

namespace {

/// May one more tenant come, whatever it asks for?
bool is_open(const GpuSpec& gpu, const GpuUse& use) {
  if (!is_usable(use)) return false;
  if (use.tenants == 0) return true;
  return gpu.share_mode != ShareMode::Exclusive && use.alone == 0 && use.tenants < gpu.slots;
}

Bytes memory_wanted(const Ask& ask, const GpuSpec& gpu) {
  return takes_whole(ask) ? gpu.capacity : charge_on(ask, gpu);
}

}  // namespace

std::string_view word_for(WaitReason reason) {
  switch (reason) {
    case WaitReason::Order:
      return "order";
    case WaitReason::Reservation:
      return "reservation";
    case WaitReason::Limit:
      return "limit";
    case WaitReason::Health:
      return "health";
    case WaitReason::Capacity:
      return "capacity";
    case WaitReason::Memory:
      return "memory";
    case WaitReason::Fragmentation:
      return "fragmentation";
    case WaitReason::Locality:
      return "locality";
    case WaitReason::Dependency:
      return "dependency";
    case WaitReason::Host:
      return "host";
    case WaitReason::Patience:
      return "patience";
  }
  return "";
}

void Waits::settle(const Engine& engine) {
  const ClusterView view = engine.view();
  for (auto& [key, shape] : shapes_) {
    for (const GpuId gpu : gpus_) look(key, shape, gpu, view);
  }
  for (const JobId job : jobs_) update(job, engine);
  gpus_.clear();
  jobs_.clear();
  for (auto& [key, shape] : shapes_) {
    const WaitReason now = reason(key, shape, engine);
    if (now == shape.reason) continue;
    count(shape, view.now());
    shape.reason = now;
  }
}

/// Brings a shape's time up to date: before its jobs or its reason change.
void Waits::count(Shape& shape, Instant now) {
  const Duration time = now - shape.since;
  times_[static_cast<std::size_t>(shape.reason)] += time * std::ssize(shape.jobs);
  shape.since = now;
}

void Waits::update(JobId id, const Engine& engine) {
  const ClusterView view = engine.view();
  if (const auto found = waiting_.find(id); found != waiting_.end()) {
    const Shapes::iterator at = found->second;
    count(at->second, view.now());
    at->second.jobs.erase(id);
    if (at->second.jobs.empty()) shapes_.erase(at);
    waiting_.erase(found);
  }
  const Job* const job = view.find(id);
  if (job == nullptr || !is_waiting(job->state)) return;
  const auto decided = engine.refused(id);
  Key key{.user = view.settings().has_limits() ? job->spec.user : UserId(),
          .ask = decided ? decided->ask : ask_of(view.job(id))};
  key.ask.planned = kForever;
  const auto [at, is_new] = shapes_.try_emplace(key);
  Shape& shape = at->second;
  if (is_new) {
    shape.since = view.now();
    look(key, shape, view);
  }
  count(shape, view.now());
  shape.jobs.insert(id);
  waiting_.emplace(id, at);
}

/// At every GPU, for the first time.
void Waits::look(const Key& key, Shape& shape, const ClusterView& view) const {
  shape.gpus.resize(cluster_.gpus().size());
  shape.count[static_cast<std::size_t>(Room::Unsuitable)] = std::ssize(shape.gpus);
  for (std::uint32_t g = 0; g < shape.gpus.size(); ++g) {
    const GpuSpec& gpu = cluster_.gpu(GpuId(g));
    if (accepts(key.ask.request.gpu, gpu))
      shape.wanted = std::max(shape.wanted, memory_wanted(key.ask, gpu));
    look(key, shape, GpuId(g), view);
  }
}

void Waits::look(const Key& key, Shape& shape, GpuId gpu, const ClusterView& view) const {
  Seen& known = shape.gpus[gpu.value()];
  const Seen now = seen(key.ask, gpu, view);
  --shape.count[static_cast<std::size_t>(known.room)];
  ++shape.count[static_cast<std::size_t>(now.room)];
  shape.memory += now.memory - known.memory;
  shape.milli += now.milli - known.milli;
  known = now;
}

Waits::Seen Waits::seen(const Ask& ask, GpuId id, const ClusterView& view) const {
  const GpuSpec& gpu = cluster_.gpu(id);
  const GpuUse& use = view.use().gpu(id);
  Seen seen{.room = room(ask, id, view)};
  const bool is_taken = ask.alone() && use.tenants > 0;
  if (seen.room == Room::Unsuitable || is_taken || !is_open(gpu, use)) return seen;
  seen.memory = std::max(Bytes(0), gpu.capacity - use.charged - use.foreign);
  seen.milli = kWholeGpu - use.milli;
  return seen;
}

Waits::Room Waits::room(const Ask& ask, GpuId id, const ClusterView& view) const {
  const GpuSpec& gpu = cluster_.gpu(id);
  const GpuUse& use = view.use().gpu(id);
  const bool will_do = accepts(ask.request.gpu, gpu) && may_be_on(gpu.node, ask, 1);
  if (!will_do || memory_wanted(ask, gpu) > gpu.capacity) return Room::Unsuitable;
  if (!is_usable(use)) return Room::OutOfService;
  if (admits(view.settings().admission, gpu, use, ask)) return Room::Fits;
  return tenancy_holds(gpu, use, ask) && is_open(gpu, use) ? Room::LacksMemory : Room::Taken;
}

WaitReason Waits::reason(const Key& key, const Shape& shape, const Engine& engine) const {
  const ClusterView view = engine.view();
  const auto decided = engine.refused(*shape.jobs.begin());
  const auto fits = shape.count[static_cast<std::size_t>(Room::Fits)];
  const bool enough_gpus = fits >= key.ask.gpus().raw();
  const bool without_host = enough_gpus && lacks_host(key.ask, shape, view);
  const auto refusal = decided ? std::optional(decided->refusal) : std::nullopt;
  switch (reason_for(refusal, enough_gpus && !without_host)) {
    case Why::Limit:
      return WaitReason::Limit;
    case Why::Reservation:
      return WaitReason::Reservation;
    case Why::Patience:
      return WaitReason::Patience;
    case Why::Locality:
      return WaitReason::Locality;
    case Why::Fits:
    case Why::Order:
      return WaitReason::Order;
    case Why::Capacity:
    case Why::Health:
    case Why::Drain:
      break;
  }
  return without_host ? WaitReason::Host : lack(key.ask, shape);
}

/// What too few GPUs have.
WaitReason Waits::lack(const Ask& ask, const Shape& shape) const {
  const auto gpus = [&](Room room) { return shape.count[static_cast<std::size_t>(room)]; };
  const std::int64_t asked = ask.gpus().raw();
  if (gpus(Room::Fits) + gpus(Room::OutOfService) >= asked) return WaitReason::Health;
  const GpuMilli share = ask.alone() ? kWholeGpu : ask.request.gpu.milli;
  const bool in_pieces = shape.wanted > Bytes(0) && shape.memory >= shape.wanted * asked &&
                         shape.milli >= share * asked;
  if (in_pieces) return WaitReason::Fragmentation;
  return gpus(Room::Fits) + gpus(Room::LacksMemory) >= asked ? WaitReason::Memory
                                                             : WaitReason::Capacity;
}

/// Enough GPUs could take it, but not with the cores and memory of their nodes.
bool Waits::lacks_host(const Ask& ask, const Shape& shape, const ClusterView& view) const {
  if (ask.request.cpu == CpuMilli(0) && ask.request.host == Bytes(0)) return false;
  if (ask.gpus() == GpuCount(0)) {
    const auto nodes = cluster_.nodes().size();
    for (std::uint32_t n = 0; n < nodes; ++n) {
      if (host_fits(cluster_, view.use(), NodeId(n), ask, 1)) return false;
    }
    return true;
  }
  std::int64_t with_host = 0;
  for (std::uint32_t g = 0; g < shape.gpus.size(); ++g) {
    const NodeId node = cluster_.node_of(GpuId(g));
    const bool fits =
        shape.gpus[g].room == Room::Fits && host_fits(cluster_, view.use(), node, ask, 1);
    with_host += fits ? 1 : 0;
  }
  return with_host < ask.gpus().raw();
}

}  // namespace berth::sim
