#include "emu/state/checkpoint.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <set>

#include "emu/state/clock.hpp"
#include "emu/state/futex.hpp"
#include "emu/state/ledger.hpp"
#include "emu/state/process.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {
namespace {

constexpr std::uint64_t kMillisecond = 1000000;

void pause_for(std::uint64_t nanoseconds) {
  const timespec span{.tv_sec = static_cast<time_t>(nanoseconds / kSecond),
                      .tv_nsec = static_cast<long>(nanoseconds % kSecond)};
  ::nanosleep(&span, nullptr);
}

// A fault, packed: skip 8 bits, error 16, delay 24, times 15, late 1; from the highest.
constexpr int kSkipShift = 56;
constexpr int kErrorShift = 40;
constexpr int kDelayShift = 16;
constexpr int kTimesShift = 1;

std::uint64_t pack(const CheckpointFault& fault) {
  return (std::uint64_t{fault.skip} << kSkipShift) | (std::uint64_t{fault.error} << kErrorShift) |
         (std::uint64_t{fault.delay_millis & CheckpointFault::kHangs} << kDelayShift) |
         (std::uint64_t{static_cast<std::uint16_t>(fault.times & CheckpointFault::kAlways)}
          << kTimesShift) |
         (fault.is_late ? 1U : 0U);
}

CheckpointFault unpack(std::uint64_t word) {
  return {.error = static_cast<std::uint16_t>(word >> kErrorShift),
          .delay_millis = static_cast<std::uint32_t>(word >> kDelayShift) & CheckpointFault::kHangs,
          .times = static_cast<std::uint16_t>((word >> kTimesShift) & CheckpointFault::kAlways),
          .is_late = (word & 1) != 0,
          .skip = static_cast<std::uint8_t>(word >> kSkipShift)};
}

constexpr std::array<std::string_view, 6> kCalls{"state",   "lock",   "checkpoint",
                                                 "restore", "unlock", "thread"};

std::uint32_t moved(const GpuMoves& moves, std::uint32_t gpu) {
  const auto found = moves.find(gpu);
  return found == moves.end() ? gpu : found->second;
}

}  // namespace

std::optional<std::uint32_t> Checkpoints::slot_of(pid_t pid) const {
  const auto key = key_of(pid);
  for (std::uint32_t slot = 0; key && slot < used_slots(layout_); ++slot) {
    if (layout_.owners[slot].load() == *key) return slot;
  }
  return std::nullopt;
}

ProcessState Checkpoints::state(std::uint32_t slot) const {
  return static_cast<ProcessState>(std::min(layout_.checkpoints[slot].state.load(), 3U));
}

void Checkpoints::set(std::uint32_t slot, ProcessState state) {
  auto& own = layout_.checkpoints[slot];
  own.state.store(static_cast<std::uint32_t>(state));
  wake_all(own.signal);
}

bool Checkpoints::is_gone(std::uint32_t slot, std::uint64_t key) const {
  return layout_.owners[slot].load() != key || !is_alive(key);
}

/// A real driver works through a thread of the process, which does nothing while it is stopped.
bool Checkpoints::wait_for_process(std::uint32_t slot, std::uint64_t key) const {
  while (is_stopped(pid_of(key))) pause_for(5 * kMillisecond);
  return !is_gone(slot, key);
}

CheckpointEnd Checkpoints::lock(std::uint32_t slot, std::uint32_t timeout) {
  auto& own = layout_.checkpoints[slot];
  const auto key = layout_.owners[slot].load();
  const auto end = monotonic_nanoseconds() + timeout * kMillisecond;
  auto running = static_cast<std::uint32_t>(ProcessState::Running);
  if (!own.state.compare_exchange_strong(running, static_cast<std::uint32_t>(ProcessState::Locked)))
    return CheckpointEnd::WrongState;
  while (own.calls.load() != 0 || is_stopped(pid_of(key))) {
    if (is_gone(slot, key)) return CheckpointEnd::Gone;
    if (timeout != 0 && monotonic_nanoseconds() >= end) {
      set(slot, ProcessState::Running);
      return CheckpointEnd::TimedOut;
    }
    pause_for(kMillisecond);
  }
  return CheckpointEnd::Done;
}

/// False if the process ended first.
bool Checkpoints::finish_work(std::uint32_t slot, std::uint64_t key) {
  for (std::uint32_t gpu = 0; gpu < layout_.header.gpu_count && gpu < kMaxGpus; ++gpu) {
    const GpuClock clock(layout_, gpu);
    while (clock.read().virtual_nanoseconds < clock.finish_of(slot)) {
      if (layout_.gpus[gpu].lost.load() != 0) break;
      if (is_gone(slot, key)) return false;
      pause_for(kMillisecond);
    }
  }
  return true;
}

CheckpointEnd Checkpoints::checkpoint(std::uint32_t slot) {
  const auto key = layout_.owners[slot].load();
  if (state(slot) != ProcessState::Locked) return CheckpointEnd::WrongState;
  if (!wait_for_process(slot, key) || !finish_work(slot, key)) return CheckpointEnd::Gone;
  auto& own = layout_.checkpoints[slot];
  for (std::uint32_t gpu = 0; gpu < layout_.header.gpu_count && gpu < kMaxGpus; ++gpu) {
    Ledger ledger(layout_, gpu);
    const auto held = ledger.granules_of(slot);
    if (held == 0) continue;  // or a caller that died has saved it already
    own.saved[gpu].store(held);
    ledger.change(slot, -static_cast<std::int64_t>(held));
  }
  set(slot, ProcessState::Checkpointed);
  return CheckpointEnd::Done;
}

bool Checkpoints::are_alike(const CheckpointSlot& own, const GpuMoves& moves) const {
  std::set<std::uint32_t> to;
  for (std::uint32_t gpu = 0; gpu < layout_.header.gpu_count && gpu < kMaxGpus; ++gpu) {
    if (own.saved[gpu].load() == 0) continue;
    const auto found = moves.find(gpu);
    if (found == moves.end() || found->second >= layout_.header.gpu_count) return false;
    const auto& before = layout_.gpus[gpu].config;
    const auto& after = layout_.gpus[found->second].config;
    if (before.name != after.name || !to.insert(found->second).second) return false;
  }
  return true;
}

/// All of its memory, or nothing of it.
bool Checkpoints::put_back(std::uint32_t slot, const GpuMoves& moves) {
  auto& own = layout_.checkpoints[slot];
  std::map<std::uint32_t, std::int64_t> given;
  for (std::uint32_t gpu = 0; gpu < layout_.header.gpu_count && gpu < kMaxGpus; ++gpu) {
    const auto granules = static_cast<std::int64_t>(own.saved[gpu].load());
    const auto to = moved(moves, gpu);
    Ledger ledger(layout_, to);
    if (granules == 0 || ledger.granules_of(slot) != 0) continue;  // or one that died gave it
    if (ledger.change(slot, granules)) {
      given[to] = granules;
      continue;
    }
    for (const auto& [taken, back] : given) Ledger(layout_, taken).change(slot, -back);
    return false;
  }
  bool has_moved = false;
  for (auto& home : own.home) {
    const auto original = static_cast<std::uint32_t>(&home - own.home.data());
    const auto word = home.load();
    const auto now = word == 0 ? original : static_cast<std::uint32_t>(word - 1);
    const auto next = moved(moves, now);
    if (next == now) continue;
    home.store(next + 1);
    has_moved = true;
  }
  if (has_moved) own.moves.fetch_add(1);
  for (auto& granules : own.saved) granules.store(0);
  return true;
}

CheckpointEnd Checkpoints::restore(std::uint32_t slot, const GpuMoves& moves) {
  const auto key = layout_.owners[slot].load();
  if (state(slot) != ProcessState::Checkpointed) return CheckpointEnd::WrongState;
  if (!moves.empty() && !are_alike(layout_.checkpoints[slot], moves)) return CheckpointEnd::BadGpus;
  if (!wait_for_process(slot, key)) return CheckpointEnd::Gone;
  if (!put_back(slot, moves)) return CheckpointEnd::OutOfMemory;
  set(slot, ProcessState::Locked);
  return CheckpointEnd::Done;
}

CheckpointEnd Checkpoints::unlock(std::uint32_t slot) {
  const auto key = layout_.owners[slot].load();
  if (state(slot) != ProcessState::Locked) return CheckpointEnd::WrongState;
  if (!wait_for_process(slot, key)) return CheckpointEnd::Gone;
  // A checkpoint whose caller died may have taken some of it.
  if (!put_back(slot, {})) return CheckpointEnd::OutOfMemory;
  set(slot, ProcessState::Running);
  return CheckpointEnd::Done;
}

// ---- Faults ----------------------------------------------------------------------------------

Outcome<CheckpointCall> parse_checkpoint_call(std::string_view name) {
  const auto* found = std::ranges::find(kCalls, name);
  if (found != kCalls.end()) return static_cast<CheckpointCall>(found - kCalls.begin());
  return std::unexpected("'" + std::string(name) +
                         "' is not state, lock, checkpoint, restore, unlock or thread");
}

Outcome<void> inject_checkpoint_fault(const std::string& path, const CheckpointFault& fault) {
  const auto region = Region::open(path);
  if (!region) return std::unexpected(region.error().message);
  region->layout().checkpoint_faults[static_cast<std::size_t>(fault.call)].store(pack(fault));
  return {};
}

Outcome<std::uint32_t> checkpoint_faults_left(const std::string& path, CheckpointCall call) {
  const auto region = Region::open(path);
  if (!region) return std::unexpected(region.error().message);
  return unpack(region->layout().checkpoint_faults[static_cast<std::size_t>(call)].load()).times;
}

InjectedError take_fault(Layout& layout, CheckpointCall call) {
  auto& word = layout.checkpoint_faults[static_cast<std::size_t>(call)];
  auto seen = word.load();
  for (;;) {
    auto fault = unpack(seen);
    if (fault.times == 0) return {};
    const bool goes_well = fault.skip > 0;
    if (goes_well) {
      --fault.skip;
    } else if (fault.times != CheckpointFault::kAlways) {
      --fault.times;
    }
    if (!word.compare_exchange_weak(seen, pack(fault))) continue;
    if (goes_well) return {};
    break;
  }
  const auto fault = unpack(seen);
  while (fault.delay_millis == CheckpointFault::kHangs) pause_for(1000 * kMillisecond);
  pause_for(fault.delay_millis * kMillisecond);
  return {.error = fault.error, .is_late = fault.is_late};
}

}  // namespace berth::emu
