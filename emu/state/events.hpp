// Xid events: a ring every process can append to and read from its own position.
//
// Thread-safety: lock-free. A writer that dies half-way leaves a gap, which readers skip; a reader
// that is more than the ring behind loses the oldest events.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/state/layout.hpp"

namespace berth::emu {

/// "The GPU has fallen off the bus": the one Xid after which the GPU does not answer.
inline constexpr std::uint32_t kXidGpuLost = 79;

struct XidEvent {
  std::uint32_t gpu = 0;
  std::uint32_t xid = 0;
};

/// Appends and wakes the waiters; Xid 79 also marks the GPU lost. Requires: gpu < kMaxGpus.
void post_xid(Layout& layout, XidEvent event);

/// Marks a GPU, and its MIG instances with it, as lost or not: 1 or 0. Requires: gpu < kMaxGpus.
void set_lost(Layout& layout, std::uint32_t gpu, std::uint32_t lost);

/// Reads events from a position of one's own.
class EventCursor {
 public:
  /// Starts behind the newest event.
  explicit EventCursor(Layout& layout) : log_(layout.events), position_(log_.next.load()) {}

  /// The next event, if there is one.
  std::optional<XidEvent> take();

  /// Waits for an event until CLOCK_MONOTONIC shows `deadline`.
  std::optional<XidEvent> wait(std::uint64_t deadline_nanoseconds);

 private:
  EventLog& log_;
  std::uint64_t position_;
};

}  // namespace berth::emu
