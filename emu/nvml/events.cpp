// NVML event sets: waiting for Xid events.
#include "emu/state/events.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "emu/nvml/session.hpp"
#include "emu/state/clock.hpp"

namespace berth::emu {
namespace {

/// What one nvmlEventSet_t listens to. One waiter at a time, as NVML asks of its callers.
struct EventSet {
  std::shared_ptr<Region> region;  // stays mapped while a thread waits
  EventCursor cursor;
  std::mutex mutex;
  std::uint32_t gpus = 0;  // bit i: Xid events of GPU i
};

struct EventSets {
  std::mutex mutex;
  std::map<NvmlEventSet, std::shared_ptr<EventSet>> open;
};

EventSets& event_sets() {
  static EventSets* const only = new EventSets;
  return *only;
}

std::shared_ptr<EventSet> find(NvmlEventSet handle) {
  auto& sets = event_sets();
  const std::lock_guard lock(sets.mutex);
  const auto found = sets.open.find(handle);
  return found == sets.open.end() ? nullptr : found->second;
}

bool listens_to(EventSet& set, std::uint32_t gpu) {
  const std::lock_guard lock(set.mutex);
  return (set.gpus >> gpu & 1U) != 0;
}

NvmlResult wait(NvmlEventSet handle, NvmlEventDataV1& data, std::uint32_t timeout_milliseconds) {
  const auto set = find(handle);
  if (!set) return NvmlResult::InvalidArgument;
  const auto deadline = monotonic_nanoseconds() + std::uint64_t{timeout_milliseconds} * 1000000;
  while (const auto event = set->cursor.wait(deadline)) {
    if (!listens_to(*set, event->gpu)) continue;
    data = {.device = handle_of(event->gpu), .event_type = kNvmlEventXid, .event_data = event->xid};
    return NvmlResult::Success;
  }
  return NvmlResult::Timeout;
}

}  // namespace

extern "C" {

NvmlResult nvmlEventSetCreate(NvmlEventSet* handle) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  if (handle == nullptr) return NvmlResult::InvalidArgument;
  auto set = std::make_shared<EventSet>(region, EventCursor(region->layout()));
  *handle = reinterpret_cast<NvmlEventSet>(set.get());
  auto& sets = event_sets();
  const std::lock_guard lock(sets.mutex);
  sets.open[*handle] = std::move(set);
  return NvmlResult::Success;
}

NvmlResult nvmlEventSetFree(NvmlEventSet handle) {
  auto& sets = event_sets();
  const std::lock_guard lock(sets.mutex);
  return sets.open.erase(handle) == 1 ? NvmlResult::Success : NvmlResult::InvalidArgument;
}

NvmlResult nvmlDeviceGetSupportedEventTypes(NvmlDevice device, std::uint64_t* types) {
  return answer(device, types, [](const GpuCall&) { return kNvmlEventXid; });
}

NvmlResult nvmlDeviceRegisterEvents(NvmlDevice device, std::uint64_t types, NvmlEventSet handle) {
  return on_device(device, [&](const GpuCall& call) {
    const auto set = find(handle);
    if (!set) return NvmlResult::InvalidArgument;
    if (is_instance(call) || (types & ~kNvmlEventXid) != 0) return NvmlResult::NotSupported;
    const std::lock_guard lock(set->mutex);
    if (types != 0) set->gpus |= 1U << call.index;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlEventSetWait_v2(NvmlEventSet handle, NvmlEventData* data, std::uint32_t timeout) {
  if (!session()) return NvmlResult::Uninitialized;
  if (data == nullptr) return NvmlResult::InvalidArgument;
  NvmlEventDataV1 event{};
  const auto result = wait(handle, event, timeout);
  if (result != NvmlResult::Success) return result;
  *data = {.device = event.device,
           .event_type = event.event_type,
           .event_data = event.event_data,
           .gpu_instance_id = kNvmlNoInstance,
           .compute_instance_id = kNvmlNoInstance};
  return NvmlResult::Success;
}

NvmlResult nvmlEventSetWait(NvmlEventSet handle, NvmlEventDataV1* data, std::uint32_t timeout) {
  if (!session()) return NvmlResult::Uninitialized;
  if (data == nullptr) return NvmlResult::InvalidArgument;
  return wait(handle, *data, timeout);
}

}  // extern "C"

}  // namespace berth::emu
