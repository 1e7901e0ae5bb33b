#include "emu/state/events.hpp"

#include <algorithm>

#include "emu/state/clock.hpp"
#include "emu/state/futex.hpp"
#include "emu/state/mig.hpp"

namespace berth::emu {
namespace {

// An entry: number + 1 of the event (its low 32 bits) above, then 8 bits of GPU, 24 of Xid.
constexpr std::uint64_t kXidMask = (1ULL << 24) - 1;
constexpr int kGpuShift = 24;
constexpr int kEventShift = 32;

std::uint64_t stamp(std::uint64_t number) { return (number + 1) & 0xffffffff; }

std::uint64_t pack(std::uint64_t number, XidEvent event) {
  return (stamp(number) << kEventShift) | (std::uint64_t{event.gpu} << kGpuShift) |
         (event.xid & kXidMask);
}

}  // namespace

void set_lost(Layout& layout, std::uint32_t gpu, std::uint32_t lost) {
  layout.gpus[gpu].lost.store(lost);
  for (const auto& instance : instances_of(layout, gpu)) {
    layout.gpus[instance.entry].lost.store(lost);
    wake_all(layout.gpus[instance.entry].signal);
  }
}

void post_xid(Layout& layout, XidEvent event) {
  auto& gpu = layout.gpus[event.gpu];
  // First the state, then the event, so that a listener finds the new state.
  if (event.xid == kXidGpuLost) set_lost(layout, event.gpu, 1);
  wake_all(gpu.signal);
  const auto number = layout.events.next.fetch_add(1);
  layout.events.entries[number % kEventRing].store(pack(number, event));
  wake_all(layout.events.signal);
}

std::optional<XidEvent> EventCursor::take() {
  const auto next = log_.next.load();
  if (next > kEventRing) position_ = std::max(position_, next - kEventRing);
  for (; position_ < next; ++position_) {
    const auto entry = log_.entries[position_ % kEventRing].load();
    if (entry >> kEventShift == stamp(position_)) {
      ++position_;
      return XidEvent{.gpu = static_cast<std::uint32_t>((entry >> kGpuShift) & 0xff) % kMaxGpus,
                      .xid = static_cast<std::uint32_t>(entry & kXidMask)};
    }
    // Taken but not written: its writer is about to, or died. Only a later event proves the latter.
    if (position_ + 1 == next) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<XidEvent> EventCursor::wait(std::uint64_t deadline_nanoseconds) {
  constexpr std::uint64_t kLongestWait = kSecond / 5;  // a waker may have died before waking us
  for (;;) {
    const auto signal = log_.signal.load();
    if (auto event = take()) return event;
    const auto now = monotonic_nanoseconds();
    if (now >= deadline_nanoseconds) return std::nullopt;
    wait_on(log_.signal, signal, std::min(deadline_nanoseconds, now + kLongestWait));
  }
}

}  // namespace berth::emu
