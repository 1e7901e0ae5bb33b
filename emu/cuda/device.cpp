#include "emu/cuda/device.hpp"

#include <algorithm>

#include "emu/cuda/objects.hpp"
#include "emu/state/limits.hpp"

namespace berth::emu {
namespace {

// As on real cards: small allocations share granules, large ones have their own.
constexpr std::uint64_t kSmallLimit = 1ULL << 20;
constexpr std::uint64_t kSmallStep = 512;

// Far from where Linux maps anything, one range per device.
constexpr CudaAddress kFirstAddress = 0x0a0000000000;
constexpr CudaAddress kAddressesPerDevice = 0x040000000000;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

bool is_small(std::uint64_t bytes) { return bytes < kSmallLimit; }

/// The real time at which the clock passed `target` between two sightings, evenly in between.
std::uint64_t between(const ClockReading& before, const ClockReading& after, std::uint64_t target) {
  const auto span = after.virtual_nanoseconds - before.virtual_nanoseconds;
  if (span == 0 || target <= before.virtual_nanoseconds) return before.real_nanoseconds;
  const auto part =
      static_cast<double>(target - before.virtual_nanoseconds) / static_cast<double>(span);
  const auto real = static_cast<double>(after.real_nanoseconds - before.real_nanoseconds);
  return before.real_nanoseconds + static_cast<std::uint64_t>(part * real);
}

}  // namespace

Device::Device(Layout& layout, std::uint32_t gpu, CudaDevice ordinal)
    : layout_(layout),
      first_gpu_(gpu),
      gpu_(gpu),
      ordinal_(ordinal),
      addresses_(kFirstAddress + gpu * kAddressesPerDevice,
                 kFirstAddress + (gpu + 1) * kAddressesPerDevice) {}

std::uint64_t Device::held_granules() const {
  const auto context = rounded_up(config().context_bytes, kGranule) / kGranule;
  return contexts_ * context + large_granules_ + rounded_up(small_bytes_, kGranule) / kGranule;
}

/// Tells the ledger what changed since the process held `before`. False: it does not fit.
bool Device::settle(std::uint64_t before) {
  const auto now = held_granules();
  if (now == before) return true;
  return ledger().change(slot_, static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before));
}

CudaResult Device::add_context() {
  const auto before = held_granules();
  ++contexts_;
  if (settle(before)) return CudaResult::Success;
  --contexts_;
  return CudaResult::OutOfMemory;
}

void Device::remove_context(const Context* context) {
  while (const auto left = addresses_.any_of(context)) free(left->base);
  const auto before = held_granules();
  --contexts_;
  settle(before);
}

std::expected<CudaAddress, CudaResult> Device::allocate(std::uint64_t bytes, const Context* owner) {
  if (bytes == 0) return std::unexpected(CudaResult::InvalidValue);
  // Also keeps the sums below far from their ends.
  if (bytes > config().total_bytes) return std::unexpected(CudaResult::OutOfMemory);
  const auto before = held_granules();
  const auto small = small_bytes_;
  const auto large = large_granules_;
  if (is_small(bytes)) {
    small_bytes_ += rounded_up(bytes, kSmallStep);
  } else {
    large_granules_ += rounded_up(bytes, kGranule) / kGranule;
  }
  if (settle(before)) {
    const auto base = addresses_.reserve({bytes, owner}, is_small(bytes) ? kSmallStep : kGranule);
    if (base) return *base;
    const auto taken = held_granules();
    small_bytes_ = small;
    large_granules_ = large;
    settle(taken);
    return std::unexpected(CudaResult::OutOfMemory);
  }
  small_bytes_ = small;
  large_granules_ = large;
  return std::unexpected(CudaResult::OutOfMemory);
}

CudaResult Device::free(CudaAddress base) {
  const auto placed = addresses_.find(base);
  if (!placed || placed->base != base) return CudaResult::InvalidValue;
  const auto bytes = placed->allocation.bytes;
  const auto before = held_granules();
  if (is_small(bytes)) {
    small_bytes_ -= rounded_up(bytes, kSmallStep);
  } else {
    large_granules_ -= rounded_up(bytes, kGranule) / kGranule;
  }
  bytes_.erase(base, bytes);
  addresses_.release(base);
  settle(before);
  return CudaResult::Success;
}

bool Device::holds(CudaAddress address, std::uint64_t bytes) const {
  const auto placed = addresses_.find(address);
  return placed && bytes <= placed->allocation.bytes - (address - placed->base);
}

std::uint64_t Device::free_bytes() const {
  reap_dead(layout_);
  return ledger().free_granules(slot_) * kGranule;
}

/// A limit of the process's own cgroup is all there is for it; of one above it nobody tells.
std::uint64_t Device::total_bytes() const {
  const auto bounds = bounds_of(layout_, leaf_of(layout_, slot_), gpu_);
  return std::min(ledger().capacity_granules(), bounds.hard.value_or(~0ULL)) * kGranule;
}

std::uint64_t Device::allocated_bytes() const {
  return large_granules_ * kGranule + rounded_up(small_bytes_, kGranule);
}

std::uint64_t Device::enqueue(std::uint64_t nanoseconds) {
  observe();
  const auto percentage = layout_.mps[slot_].percentage.load();  // of the threads of the GPU
  if (percentage > 0) nanoseconds = nanoseconds * 100 / percentage;
  return clock().enqueue(slot_, nanoseconds);
}

bool Device::has_reached(std::uint64_t target) const {
  return clock().read().virtual_nanoseconds >= target;
}

CudaResult Device::wait(std::uint32_t gpu, std::uint64_t target) {
  return GpuClock(layout_, gpu).wait_until(target) == WaitEnd::Reached ? CudaResult::Success
                                                                       : CudaResult::Unknown;
}

void Device::watch(Event* event) {
  observe();
  watched_.push_back(event);
  observe();
}

void Device::observe() {
  const auto now = clock().read();
  for (auto* event : watched_) {
    if (event->target > now.virtual_nanoseconds) continue;
    const auto exact = clock().past_time_of(event->target);
    event->reached_nanoseconds = exact ? *exact : between(last_seen_, now, event->target);
  }
  std::erase_if(watched_, [](const Event* event) { return event->reached_nanoseconds != 0; });
  last_seen_ = now;
}

}  // namespace berth::emu
