// Limits of GPU memory per control group, as drivers from r615 on keep them: doc/emulator.md.
//
// A group is a cgroup v2, named by its folder; its processes are those in it and below it. What
// they hold together on a GPU never exceeds its hard limit. Its soft limit is a guarantee: what is
// missing to it no process outside the group gets. A limit stays when its cgroup is removed, as a
// guarantee that nobody gave back.
//
// Thread-safety: lock-free between any number of threads and processes; of two that set limits of
// one new group at the same time, one may be lost.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/state/layout.hpp"

namespace berth::emu {

/// Names a group; never 0.
using Group = std::uint64_t;

/// The group of a folder. Requires: an absolute path, without `.`, `..`, doubled or trailing
/// slashes.
Group group_of(const std::string& folder);

/// The folder of a process's cgroup v2: BERTH_EMU_CGROUP if this process has it, for machines
/// without cgroup v2. "": it has none.
std::string own_cgroup();

/// Says that a slot's process is in this folder; before it holds memory.
void enter(Layout& layout, std::uint32_t slot, const std::string& folder);

/// In granules.
struct Bounds {
  std::uint64_t soft = 0;
  std::optional<std::uint64_t> hard;  ///< None: as much as there is.

  bool operator==(const Bounds&) const = default;
};

/// None is set: no guarantee and no bound.
Bounds bounds_of(const Layout& layout, Group group, std::uint32_t gpu);

/// False: there is no room for one more group.
bool set_bounds(Layout& layout, Group group, std::uint32_t gpu, const Bounds& bounds);

/// One group's limit on one GPU.
struct LimitState {
  Group group = 0;
  Bounds bounds;
};
/// All that are set on a GPU.
std::vector<LimitState> limits_on(const Layout& layout, std::uint32_t gpu);

/// What bears on one process that wants memory, found before the memory is counted.
class Restraint {
 public:
  Restraint(const Layout& layout, std::uint32_t gpu, std::uint32_t slot);

  /// Whether the slot may have `more`. `held(slot)` are granules; `room` is what the GPU has left.
  template <class Held>
  bool allows(std::uint64_t more, std::uint64_t room, const Held& held) const;
  /// The most that it may have, of `room`.
  template <class Held>
  std::uint64_t most(std::uint64_t room, const Held& held) const;

 private:
  template <class Held>
  std::uint64_t kept_for_others(const Held& held) const;

  const Layout& layout_;
  std::vector<LimitState> own_;     ///< With a hard limit.
  std::vector<LimitState> others_;  ///< With a guarantee.
};

/// True if the slot's process is in the group or below it.
bool is_in(const Layout& layout, std::uint32_t slot, Group group);
/// The slot's own cgroup, not one above it; 0: unknown.
Group leaf_of(const Layout& layout, std::uint32_t slot);

/// What a group holds.
template <class Held>
std::uint64_t sum_in(const Layout& layout, Group group, const Held& held) {
  std::uint64_t granules = 0;
  const auto high = layout.header.slot_high.load();
  for (std::uint32_t slot = 0; slot < high && slot < kSlots; ++slot) {
    if (const auto holds = held(slot); holds != 0 && is_in(layout, slot, group)) granules += holds;
  }
  return granules;
}

template <class Held>
std::uint64_t Restraint::kept_for_others(const Held& held) const {
  std::uint64_t kept = 0;
  for (const auto& limit : others_) {
    const auto has = sum_in(layout_, limit.group, held);
    if (limit.bounds.soft > has) kept += limit.bounds.soft - has;
  }
  return kept;
}

template <class Held>
std::uint64_t Restraint::most(std::uint64_t room, const Held& held) const {
  const auto kept = kept_for_others(held);
  std::uint64_t most = room > kept ? room - kept : 0;
  for (const auto& limit : own_) {
    const auto has = sum_in(layout_, limit.group, held);
    most = std::min(most, *limit.bounds.hard > has ? *limit.bounds.hard - has : 0);
  }
  return most;
}

template <class Held>
bool Restraint::allows(std::uint64_t more, std::uint64_t room, const Held& held) const {
  for (const auto& limit : own_) {
    if (sum_in(layout_, limit.group, held) + more > *limit.bounds.hard) return false;
  }
  return others_.empty() || more + kept_for_others(held) <= room;
}

}  // namespace berth::emu
