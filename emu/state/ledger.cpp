#include "emu/state/ledger.hpp"

#include <algorithm>

#include "emu/state/accounts.hpp"
#include "emu/state/limits.hpp"

namespace berth::emu {
namespace {

// A change: granules in the upper 32 bits, change number in the next 22, slot in the lowest 10.
// An entry of `usage`: the same with the slot bits 0.
constexpr std::uint64_t kSlotMask = kSlots - 1;
constexpr int kNumberShift = 10;
constexpr std::uint64_t kNumberMask = (1ULL << 22) - 1;
constexpr int kGranulesShift = 32;
static_assert((kSlots & kSlotMask) == 0 && kSlots == 1U << kNumberShift);

std::uint32_t slot_in(std::uint64_t word) { return static_cast<std::uint32_t>(word & kSlotMask); }
std::uint64_t number_in(std::uint64_t word) { return (word >> kNumberShift) & kNumberMask; }
std::uint64_t granules_in(std::uint64_t word) { return word >> kGranulesShift; }

std::uint64_t pack(std::uint32_t slot, std::uint64_t number, std::uint64_t granules) {
  return (granules << kGranulesShift) | (number << kNumberShift) | slot;
}

/// The number of the change after `last`. Never the one `entry` carries, or the change would look
/// as if it had been applied already: numbers wrap, and an idle slot keeps an old one.
std::uint64_t next_number(std::uint64_t last, std::uint64_t entry) {
  const auto number = (number_in(last) + 1) & kNumberMask;
  return number == number_in(entry) ? (number + 1) & kNumberMask : number;
}

}  // namespace

std::uint64_t Ledger::capacity_granules() const {
  return (gpu_.config.total_bytes - gpu_.config.reserved_bytes) / kGranule;
}

std::uint64_t Ledger::used_granules() const {
  for (;;) {
    const auto last = gpu_.ledger.load();
    apply(last);
    const auto used = sum();
    if (gpu_.ledger.load() == last) return used;
  }
}

std::uint64_t Ledger::granules_of(std::uint32_t slot) const {
  apply(gpu_.ledger.load());
  return granules_in(gpu_.usage[slot].load());
}

bool Ledger::change(std::uint32_t slot, std::int64_t granules) {
  const bool is_done =
      try_change(slot, granules) || (reap_dead(layout_) > 0 && try_change(slot, granules));
  if (is_done && granules > 0) {
    note_held(layout_, gpu_index_, layout_.owners[slot].load(), granules_of(slot));
  }
  return is_done;
}

bool Ledger::try_change(std::uint32_t slot, std::int64_t granules) {
  const auto more = static_cast<std::uint64_t>(granules);
  if (granules <= 0)
    return update(slot, [&](std::uint64_t held) { return std::optional(held + more); });
  const Restraint restraint(layout_, gpu_index_, slot);
  const auto held_by = [&](std::uint32_t each) { return granules_in(gpu_.usage[each].load()); };
  const auto pinned = pinned_limit(slot);
  return update(slot, [&](std::uint64_t held) -> std::optional<std::uint64_t> {
    const auto used = sum();
    const auto capacity = capacity_granules();
    if (used + more > capacity || held + more > pinned) return std::nullopt;
    if (!restraint.allows(more, capacity - used, held_by)) return std::nullopt;
    return held + more;
  });
}

std::uint64_t Ledger::free_granules(std::uint32_t slot) const {
  const auto held_by = [&](std::uint32_t each) { return granules_of(each); };
  const Restraint restraint(layout_, gpu_index_, slot);
  const auto left = capacity_granules() - std::min(capacity_granules(), used_granules());
  const auto held = granules_of(slot);
  const auto pinned = pinned_limit(slot);
  return std::min(restraint.most(left, held_by), pinned - std::min(pinned, held));
}

/// What an MPS client may hold here, by its environment.
std::uint64_t Ledger::pinned_limit(std::uint32_t slot) const {
  const auto& own = layout_.mps[slot];
  const auto limit = own.limits[gpu_index_].load();
  return own.server.load() == 0 || limit == 0 ? ~0ULL : limit - 1;
}

void Ledger::clear(std::uint32_t slot, ProcessKey dead) {
  update(slot, [&](std::uint64_t held) -> std::optional<std::uint64_t> {
    // Looked at after the last change was read: if a new owner takes memory from here on, the swap
    // fails and we look again.
    if (held == 0 || layout_.owners[slot].load() != dead) return std::nullopt;
    return 0;
  });
}

/// Makes the change that `decide` derives from what the slot holds, or none; the answer belongs to
/// one moment either way. Returns whether a change was made.
template <class Decide>
bool Ledger::update(std::uint32_t slot, const Decide& decide) {
  for (;;) {
    auto last = gpu_.ledger.load();
    apply(last);
    const auto entry = gpu_.usage[slot].load();
    const std::optional<std::uint64_t> wanted = decide(granules_in(entry));
    if (!wanted) {
      if (gpu_.ledger.load() == last) return false;
      continue;
    }
    const auto next = pack(slot, next_number(last, entry), *wanted);
    if (gpu_.ledger.compare_exchange_strong(last, next)) {
      apply(next);
      return true;
    }
  }
}

void Ledger::apply(std::uint64_t change) const {
  auto& entry = gpu_.usage[slot_in(change)];
  auto seen = entry.load();
  if (number_in(seen) == number_in(change)) return;
  // Still the last change, so `seen` is from before it and only this change may replace it. If it
  // is not, others have applied it, and the swap of our caller is going to fail.
  if (gpu_.ledger.load() != change) return;
  entry.compare_exchange_strong(seen, change & ~kSlotMask);
}

std::uint64_t Ledger::sum() const {
  std::uint64_t granules = 0;
  const auto high = used_slots(layout_);
  for (std::uint32_t slot = 0; slot < high; ++slot)
    granules += granules_in(gpu_.usage[slot].load());
  return granules;
}

}  // namespace berth::emu
