// The GPUs of this machine through NVIDIA's management library, real or emulated.
//
// Thread-safety: as GpuPort says; NVML itself is safe for threads.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gpu/nvml_read.hpp"
#include "gpu/port.hpp"

namespace berth {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

class Nvml final : public GpuPort {
 public:
  /// Opens the library, starts NVML and listens for Xids from here on. A machine without GPUs is
  /// no error, one without a working driver is.
  static Expected<std::unique_ptr<Nvml>> open(const std::string& library = kNvmlLibrary);
  ~Nvml() override;

  Expected<Devices> devices() override;
  Expected<Sample> sample(std::uint32_t device) override;
  Expected<Sample> glance(std::uint32_t device) override;
  Expected<void> set_limits(std::uint32_t device, const std::string& cgroup,
                            const MemoryLimits& limits) override;
  Expected<LimitsInForce> limits(std::uint32_t device, const std::string& cgroup) override;
  Expected<void> keep_accounts(std::uint32_t device) override;
  Expected<std::optional<GpuEvent>> wait_event(Duration timeout) override;

 private:
  explicit Nvml(const nvml::Api& api) : api_(api) {}

  Expected<void> find_gpus();
  void add(const nvml::Gpu& whole);
  void listen();
  Expected<nvml::Gpu> gpu(std::uint32_t device) const;
  std::optional<GpuEvent> take_heard();
  Expected<Sample> read_now(const nvml::Gpu& gpu);
  std::vector<GpuProcess> ended_since(const nvml::Gpu& gpu, const Sample& sample);
  void add_uses(const nvml::Gpu& gpu, Sample& sample);

  nvml::Api api_;
  struct Unit {
    Expected<nvml::Gpu> gpu;  ///< An error where the driver refused it.
    std::uint32_t board = 0;
  };
  std::vector<Unit> units_;  ///< By index: whole GPUs, and instances instead of those split.
  std::mutex listed_mutex_;
  std::map<std::uint32_t, std::set<pid_t>> listed_;    ///< Processes of the last sample, by device.
  std::map<std::uint32_t, std::uint64_t> newest_use_;  ///< Time of the latest period, by device.
  /// Until when its figure is partly that of a process that has left, by device.
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> shared_until_;
  std::deque<GpuEvent> heard_;  ///< Of a GPU that is split, one for each instance.
  nvml::EventSet events_ = nullptr;
  Error no_events_{ErrorCode::NotFound, "no GPU to hear events of"};  ///< Why events_ is null.
};

}  // namespace berth
