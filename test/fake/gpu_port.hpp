// GPUs out of thin air: a GpuPort whose answers a test sets.
//
// Not thread-safe. Samples and events are handed out as they stand; wait_event never blocks.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gpu/port.hpp"

namespace berth::test {

class FakeGpuPort final : public GpuPort {
 public:
  /// One GPU per capacity, all of one model, nothing in use.
  explicit FakeGpuPort(const std::vector<Bytes>& totals) {
    devices_.driver_version = "fake";
    for (const Bytes total : totals) {
      const auto index = static_cast<std::uint32_t>(devices_.list.size());
      devices_.list.push_back({.index = index,
                               .name = "Fake GPU",
                               .uuid = "GPU-fake-" + std::to_string(index),
                               .total = total,
                               .mig = false});
      samples_.emplace_back(Sample{.total = total, .utilisation_percent = 0, .processes = {{}}});
    }
  }

  Expected<Devices> devices() override { return devices_; }

  Expected<Sample> sample(std::uint32_t device) override {
    if (device >= samples_.size()) {
      return fail(ErrorCode::InvalidArgument, "GPU " + std::to_string(device) + ": there are " +
                                                  std::to_string(samples_.size()));
    }
    return samples_[device];
  }

  Expected<std::optional<GpuEvent>> wait_event(Duration) override {
    if (events_.empty()) return std::nullopt;
    const GpuEvent event = events_.front();
    events_.pop_front();
    return event;
  }

  /// A process holds this much more from now on; `used` follows.
  void hold(std::uint32_t device, pid_t pid, Bytes bytes) {
    samples_[device]->used += bytes;
    samples_[device]->processes->push_back({.pid = pid, .bytes = bytes});
  }
  /// What the next samples of a GPU are, or why there are none.
  void set(std::uint32_t device, Expected<Sample> sample) { samples_[device] = std::move(sample); }
  void report(GpuEvent event) { events_.push_back(event); }

 private:
  Devices devices_;
  std::vector<Expected<Sample>> samples_;
  std::deque<GpuEvent> events_;
};

}  // namespace berth::test
