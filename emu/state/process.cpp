#include "emu/state/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "emu/state/clock.hpp"
#include "emu/state/ledger.hpp"
#include "emu/state/mig.hpp"
#include "emu/state/mps.hpp"

namespace berth::emu {
namespace {

struct Stat {
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;
};

/// Field `index` of /proc/PID/stat, counted from the state field, which is number 0.
std::string_view field(std::string_view fields, int index) {
  for (; index > 0; --index) {
    const auto space = fields.find(' ');
    if (space == std::string_view::npos) return {};
    fields.remove_prefix(space + 1);
  }
  return fields.substr(0, fields.find(' '));
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Stat> parse_stat(std::string_view text) {
  const auto name_end = text.rfind(')');  // the name may hold anything, parentheses too
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  const auto fields = text.substr(name_end + 2);
  return Stat{.state = fields[0],
              .threads = number(field(fields, 17)),
              .start_ticks = number(field(fields, 19))};
}

std::optional<Stat> read_stat(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[1024];
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  if (length <= 0) return std::nullopt;
  return parse_stat({text, static_cast<std::size_t>(length)});
}

ProcessKey make_key(pid_t pid, std::uint64_t start_ticks) {
  return (static_cast<ProcessKey>(static_cast<std::uint32_t>(pid)) << 32) |
         (start_ticks & 0xffffffff);
}

/// An exited process whose parent has not collected it. A main thread that ended before the other
/// threads looks the same but for their number.
bool has_exited(const Stat& stat) {
  return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
}

/// Only its new owner calls this: what the one before left must not be taken for the new one's.
void reset(CheckpointSlot& slot) {
  slot.calls.store(0);
  for (auto& granules : slot.saved) granules.store(0);
  for (auto& gpu : slot.home) gpu.store(0);
  slot.moves.store(0);
  slot.state.store(0);
}

void raise_to(SharedWord& word, std::uint64_t value) {
  auto seen = word.load();
  while (seen < value && !word.compare_exchange_weak(seen, value)) {
  }
}

/// Work first: a slot must hold nothing before another process can own it.
void release(Layout& layout, std::uint32_t slot, ProcessKey dead) {
  for (std::uint32_t gpu = 0; gpu < entries_of(layout); ++gpu) {
    GpuClock(layout, gpu).end_work_of(slot, dead);
    Ledger(layout, gpu).clear(slot, dead);
  }
  layout.owners[slot].compare_exchange_strong(dead, 0);
}

}  // namespace

std::optional<ProcessKey> key_of(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || has_exited(*stat)) return std::nullopt;
  return make_key(pid, stat->start_ticks);
}

bool is_alive(ProcessKey key) {
  const pid_t pid = pid_of(key);
  if (const auto stat = read_stat(pid)) {
    return !has_exited(*stat) && make_key(pid, stat->start_ticks) == key;
  }
  // With hidepid= the processes of other users are invisible but still answer signals.
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

bool is_stopped(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && stat->state == 'T';
}

std::optional<std::uint32_t> claim_slot(Layout& layout, ProcessKey key) {
  reap_dead(layout);
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    std::uint64_t free = 0;
    if (layout.owners[slot].load() != 0) continue;
    // Before the slot is ours: no process may sum a range that misses it.
    raise_to(layout.header.slot_high, slot + 1);
    if (!layout.owners[slot].compare_exchange_strong(free, key)) continue;
    reset(layout.checkpoints[slot]);
    leave_mps(layout, slot);
    return slot;
  }
  return std::nullopt;
}

std::uint32_t reap_dead(Layout& layout) {
  std::uint32_t reaped = 0;
  const auto high = used_slots(layout);
  for (std::uint32_t slot = 0; slot < high; ++slot) {
    const ProcessKey owner = layout.owners[slot].load();
    if (owner == 0 || is_alive(owner)) continue;
    release(layout, slot, owner);
    ++reaped;
  }
  return reaped;
}

void patrol(Layout& layout, std::uint64_t now_nanoseconds) {
  constexpr std::uint64_t kPause = 100000000;
  auto last = layout.last_patrol.load();
  if (now_nanoseconds < last + kPause) return;
  if (layout.last_patrol.compare_exchange_strong(last, now_nanoseconds)) reap_dead(layout);
}

void release_slots_of(Layout& layout, ProcessKey key) {
  for (std::uint32_t slot = 0; slot < used_slots(layout); ++slot) {
    if (layout.owners[slot].load() == key) release(layout, slot, key);
  }
}

}  // namespace berth::emu
