// The state of the CUDA driver in one process, and the checks every entry point makes.
//
// Thread-safety: `with_driver` and `with_context` hold one lock while they run their body; nothing
// else touches the driver. Waiting for the GPU happens outside the lock.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <mutex>
#include <optional>
#include <vector>

#include "emu/cuda/abi.hpp"
#include "emu/cuda/call_gate.hpp"
#include "emu/cuda/device.hpp"
#include "emu/cuda/handles.hpp"
#include "emu/cuda/objects.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {

/// Kernel time to wait for, found under the lock and waited for without it.
struct Pending {
  Device* device = nullptr;
  std::uint64_t target = 0;
  std::uint32_t gpu = 0;  ///< Whose clock the target is of: a restore may move the device.
};

class Driver {
 public:
  /// The only one: the interface has no place for a handle to it.
  static Driver& instance();

  CudaResult initialise();
  bool is_usable() const { return state_ == State::Ready; }

  int device_count() const { return static_cast<int>(devices_.size()); }
  /// nullptr when there is no such device.
  Device* device(CudaDevice ordinal);
  std::uint64_t default_kernel_nanoseconds() const;

  std::expected<Context*, CudaResult> create_context(Device& device, unsigned flags);
  /// Requires: the context is live. Its allocations, modules, streams and events go with it.
  void destroy_context(Context* context);
  bool is_live(const Context* context) const { return contexts_.contains(context); }

  std::expected<Context*, CudaResult> retain_primary(Device& device);
  CudaResult release_primary(Device& device);
  CudaResult reset_primary(Device& device);
  CudaResult set_primary_flags(Device& device, unsigned flags);
  unsigned primary_flags(const Device& device) const;
  bool is_primary_active(const Device& device) const;

  /// The device whose allocation holds the address, of those with a context here.
  Device* device_at(CudaAddress address);
  MemoryPool* pool_of(const Device& device);
  bool is_pool(const MemoryPool* pool) const;

  Handles<Module>& modules() { return modules_; }
  Handles<Stream>& streams() { return streams_; }
  Handles<Event>& events() { return events_; }
  bool is_function(const Function* function) const;

  std::mutex& mutex() { return mutex_; }
  CallGate& gate() { return gate_; }
  /// After a restore on other GPUs: the devices go there.
  void follow_moves();
  /// True after a kernel of this process trapped, or one of another client of its MPS server.
  bool has_faulted() const;
  /// A kernel of this process traps.
  void trap();
  /// False in a child made by fork from a process that had called cuInit.
  bool is_own_process() const;

 private:
  enum class State { New, Ready, Failed };
  struct Primary {
    Context* context = nullptr;
    unsigned users = 0;
    unsigned flags = 0;
  };

  CudaResult open_state();
  CudaResult attach();
  void join_mps();

  std::mutex mutex_;
  CallGate gate_;
  std::uint32_t slot_ = 0;
  std::uint32_t moves_seen_ = 0;
  State state_ = State::New;
  CudaResult failure_ = CudaResult::NotInitialized;
  std::atomic<pid_t> process_ = 0;  // read without the lock, which a fork may leave locked
  std::optional<Region> region_;
  bool is_attached_ = false;
  std::deque<Device> devices_;  // never moved: contexts point to them
  std::vector<Primary> primaries_;
  std::deque<MemoryPool> pools_;
  Handles<Context> contexts_;
  Handles<Module> modules_;
  Handles<Stream> streams_;
  Handles<Event> events_;
};

/// This thread's stack of current contexts; they may have been destroyed meanwhile.
std::vector<Context*>& context_stack();

/// Runs `body(driver)` under the lock if cuInit has succeeded.
template <class Body>
CudaResult with_driver(const Body& body) {
  auto& driver = Driver::instance();
  if (!driver.is_own_process()) return CudaResult::NotInitialized;
  const CallGate::Pass pass(driver.gate());
  const std::lock_guard lock(driver.mutex());
  if (!driver.is_usable()) return CudaResult::NotInitialized;
  driver.follow_moves();
  return body(driver);
}

/// Runs `body(driver, device)` for an ordinal.
template <class Body>
CudaResult with_device(CudaDevice ordinal, const Body& body) {
  return with_driver([&](Driver& driver) {
    auto* device = driver.device(ordinal);
    return device == nullptr ? CudaResult::InvalidDevice : body(driver, *device);
  });
}

/// Runs `body(driver, context)` in this thread's current context, if its GPU still answers.
template <class Body>
CudaResult with_context(const Body& body) {
  return with_driver([&](Driver& driver) {
    const auto& stack = context_stack();
    if (stack.empty() || stack.back() == nullptr) return CudaResult::InvalidContext;
    if (!driver.is_live(stack.back())) return CudaResult::ContextIsDestroyed;
    if (stack.back()->device->is_lost()) return CudaResult::Unknown;
    if (driver.has_faulted()) return CudaResult::LaunchFailed;
    return body(driver, *stack.back());
  });
}

/// Finds what to wait for with `find(driver, context, pending)`, then waits for it.
template <class Find>
CudaResult wait_for(const Find& find) {
  Pending pending;
  const auto found = with_context([&](Driver& driver, Context& context) {
    const auto result = find(driver, context, pending);
    if (result == CudaResult::Success) pending.gpu = pending.device->gpu();
    return result;
  });
  if (found != CudaResult::Success) return found;
  const auto waited = pending.device->wait(pending.gpu, pending.target);
  if (waited != CudaResult::Success) return waited;
  return with_driver([&](Driver&) {
    pending.device->observe();
    return CudaResult::Success;
  });
}

}  // namespace berth::emu
