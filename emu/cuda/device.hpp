// One visible GPU as this process uses it: what it holds there and what it has queued.
//
// Thread-safety: the driver's lock covers everything but `wait`, which is called without it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "emu/cuda/abi.hpp"
#include "emu/cuda/address_space.hpp"
#include "emu/cuda/sparse_bytes.hpp"
#include "emu/state/clock.hpp"
#include "emu/state/ledger.hpp"

namespace berth::emu {

class Device {
 public:
  /// Requires: gpu < kMaxGpus; ordinal is the device's CUDA number.
  Device(Layout& layout, std::uint32_t gpu, CudaDevice ordinal);

  CudaDevice ordinal() const { return ordinal_; }
  /// The GPU that it is, and the one that it was first: a restore may put it on another.
  std::uint32_t gpu() const { return gpu_; }
  std::uint32_t first_gpu() const { return first_gpu_; }
  /// Requires: nothing of this process is queued there, and its memory is accounted for already.
  void move_to(std::uint32_t gpu) { gpu_ = gpu; }
  const GpuConfig& config() const { return layout_.gpus[gpu_].config; }
  bool is_lost() const { return layout_.gpus[gpu_].lost.load() != 0; }

  /// Says which slot this process has. Called once, before anything below.
  void attach(std::uint32_t slot) { slot_ = slot; }

  /// Charges the memory of one context. OutOfMemory when it does not fit.
  CudaResult add_context();
  /// Returns the context's memory and all its allocations.
  void remove_context(const Context* context);

  std::expected<CudaAddress, CudaResult> allocate(std::uint64_t bytes, const Context* owner);
  /// Requires nothing: InvalidValue when no allocation begins there.
  CudaResult free(CudaAddress base);

  /// True when the range lies inside one allocation.
  bool holds(CudaAddress address, std::uint64_t bytes) const;
  const AddressSpace& addresses() const { return addresses_; }
  SparseBytes& bytes() { return bytes_; }

  std::uint64_t free_bytes() const;
  std::uint64_t total_bytes() const;
  /// What allocations of this process take.
  std::uint64_t allocated_bytes() const;

  /// Queues a kernel; returns the virtual time of its end.
  std::uint64_t enqueue(std::uint64_t nanoseconds);
  /// The end of everything this process has queued.
  std::uint64_t queue_end() const { return clock().finish_of(slot_); }
  bool has_reached(std::uint64_t target) const;
  /// Sleeps until then by the clock of a GPU that it is or was. Unknown when that is lost.
  CudaResult wait(std::uint32_t gpu, std::uint64_t target);

  /// Watches an event until the time at which the clock reached its target is known.
  void watch(Event* event);
  void unwatch(const Event* event) { std::erase(watched_, event); }
  /// Fills in the times of watched events that have been reached.
  void observe();

 private:
  Ledger ledger() const { return Ledger(layout_, gpu_); }
  GpuClock clock() const { return GpuClock(layout_, gpu_); }
  std::uint64_t held_granules() const;
  bool settle(std::uint64_t before);

  Layout& layout_;
  const std::uint32_t first_gpu_;
  std::uint32_t gpu_;
  CudaDevice ordinal_;
  std::uint32_t slot_ = 0;
  AddressSpace addresses_;
  SparseBytes bytes_;
  std::uint64_t contexts_ = 0;
  std::uint64_t small_bytes_ = 0;     // allocations that share granules
  std::uint64_t large_granules_ = 0;  // those with granules of their own
  ClockReading last_seen_;
  std::vector<Event*> watched_;
};

}  // namespace berth::emu
