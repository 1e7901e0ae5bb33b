// The door that every driver call goes through: closed while another process has this one locked.
//
// Thread-safety: any number of threads. A call that waits at the door holds nothing.
#pragma once

#include <atomic>

#include "emu/state/checkpoint.hpp"
#include "emu/state/clock.hpp"
#include "emu/state/futex.hpp"

namespace berth::emu {

class CallGate {
 public:
  /// From now on the calls of this process are counted. Called once, by the first that needs it.
  void guard(CheckpointSlot& slot) { slot_.store(&slot); }

  /// One call under way; waits for the door first.
  class Pass {
   public:
    explicit Pass(CallGate& gate) : slot_(gate.slot_.load()) {
      while (slot_ != nullptr && !enter()) {
      }
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() {
      if (slot_ != nullptr) slot_->calls.fetch_sub(1);
    }

   private:
    /// Counts first and looks then, so that a lock either sees the call or stops it.
    bool enter() {
      constexpr std::uint64_t kLongestSleep = 100000000;  // the one that locked may have died
      const auto seen = slot_->signal.load();
      slot_->calls.fetch_add(1);
      if (slot_->state.load() == static_cast<std::uint32_t>(ProcessState::Running)) return true;
      slot_->calls.fetch_sub(1);
      wait_on(slot_->signal, seen, monotonic_nanoseconds() + kLongestSleep);
      return false;
    }

    CheckpointSlot* slot_;
  };

 private:
  std::atomic<CheckpointSlot*> slot_ = nullptr;
};

}  // namespace berth::emu
