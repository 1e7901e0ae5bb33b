// The memory of one GPU: the granules of each process, never more in sum than there are.
//
// One word, `GpuState::ledger`, holds the last change: the slot, its new total and a change number.
// A change is made by one compare-and-swap of that word, and before anyone makes the next one he
// writes the last one into `usage` (again, if need be: writing it twice does no harm). So the sum
// over `usage` is exact at the moment a swap succeeds, a process may die or stop anywhere, and a
// request that does not fit never disturbs one that does.
//
// Thread-safety: lock-free between any number of threads and processes.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/state/layout.hpp"
#include "emu/state/process.hpp"

namespace berth::emu {

/// How many slots need looking at: all that were ever taken.
inline std::uint32_t used_slots(const Layout& layout) {
  const auto high = layout.header.slot_high.load();
  return high < kSlots ? static_cast<std::uint32_t>(high) : kSlots;
}

class Ledger {
 public:
  /// Requires: gpu < kMaxGpus.
  Ledger(Layout& layout, std::uint32_t gpu)
      : layout_(layout), gpu_(layout.gpus[gpu]), gpu_index_(gpu) {}

  /// What processes may hold together.
  std::uint64_t capacity_granules() const;

  /// What all processes hold together, at one moment.
  std::uint64_t used_granules() const;

  /// What is left of the GPU for this process: its cgroup's limit and what others were guaranteed
  /// (limits.hpp) are counted in.
  std::uint64_t free_granules(std::uint32_t slot) const;

  /// What one process holds.
  std::uint64_t granules_of(std::uint32_t slot) const;

  /// Adds to (or, negative, takes from) what the slot holds. False, and nothing changed, when the
  /// sum would exceed the capacity, or that of its cgroup its limit, even after the memory of dead
  /// processes has come back.
  /// Requires: the slot holds at least what is taken.
  bool change(std::uint32_t slot, std::int64_t granules);

  /// Sets the slot to nothing if `dead` still owns it.
  void clear(std::uint32_t slot, ProcessKey dead);

 private:
  template <class Decide>
  bool update(std::uint32_t slot, const Decide& decide);
  bool try_change(std::uint32_t slot, std::int64_t granules);
  std::uint64_t pinned_limit(std::uint32_t slot) const;
  void apply(std::uint64_t change) const;
  std::uint64_t sum() const;

  Layout& layout_;
  GpuState& gpu_;
  std::uint32_t gpu_index_;
};

}  // namespace berth::emu
