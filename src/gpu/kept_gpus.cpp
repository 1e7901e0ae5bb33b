#include "gpu/kept_gpus.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace berth {

namespace {

constexpr std::uint32_t kNoBoard = std::numeric_limits<std::uint32_t>::max();

/// What a job can have of it is as much, as far as it is known.
bool has_size_of(const Device& one, const Device& other) {
  const Bytes a = one.total - one.reserved;
  const Bytes b = other.total - other.reserved;
  if (a == Bytes(0) || b == Bytes(0)) return true;
  return (std::max(a, b) - std::min(a, b)) * 100 <= std::max(a, b);
}

bool is_same(const Device& before, const Device& now) {
  if (before.uuid.empty() || now.uuid.empty()) {
    return before.index == now.index && has_size_of(before, now);
  }
  return before.uuid == now.uuid && has_size_of(before, now);
}

/// By UUID first: a number may have become another's.
std::vector<std::optional<std::uint32_t>> numbers_now(const std::vector<Device>& before,
                                                      const std::vector<Device>& now) {
  std::vector<std::optional<std::uint32_t>> numbers(before.size());
  std::vector<bool> taken(now.size(), false);
  for (const bool by_uuid : {true, false}) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t n = 0; n < now.size() && !numbers[i]; ++n) {
        const bool has_uuids = !before[i].uuid.empty() && !now[n].uuid.empty();
        if (taken[n] || has_uuids != by_uuid || !is_same(before[i], now[n])) continue;
        numbers[i] = now[n].index;
        taken[n] = true;
      }
    }
  }
  return numbers;
}

/// Every answer is the driver's, but for the numbers.
class NumberedPort final : public GpuPort {
 public:
  NumberedPort(std::unique_ptr<GpuPort> port, KeptGpus kept)
      : port_(std::move(port)), kept_(std::move(kept)) {}

  Expected<Devices> devices() override {
    Devices devices;
    if (port_) {
      const auto now = port_->devices();
      if (!now) return now;
      devices.driver_version = now->driver_version;
    }
    devices.list = kept_.list;
    return devices;
  }
  Expected<Sample> sample(std::uint32_t device) override {
    const auto number = number_of(device);
    return number ? port_->sample(*number) : std::unexpected(number.error());
  }
  Expected<Sample> glance(std::uint32_t device) override {
    const auto number = number_of(device);
    return number ? port_->glance(*number) : std::unexpected(number.error());
  }
  Expected<void> set_limits(std::uint32_t device, const std::string& cgroup,
                            const MemoryLimits& limits) override {
    const auto number = number_of(device);
    return number ? port_->set_limits(*number, cgroup, limits) : std::unexpected(number.error());
  }
  Expected<LimitsInForce> limits(std::uint32_t device, const std::string& cgroup) override {
    const auto number = number_of(device);
    return number ? port_->limits(*number, cgroup) : std::unexpected(number.error());
  }
  Expected<void> keep_accounts(std::uint32_t device) override {
    const auto number = number_of(device);
    return number ? port_->keep_accounts(*number) : std::unexpected(number.error());
  }
  Expected<std::optional<GpuEvent>> wait_event(Duration timeout) override {
    if (!port_) {
      std::this_thread::sleep_for(timeout);
      return std::nullopt;
    }
    auto event = port_->wait_event(timeout);
    if (!event || !*event) return event;
    const auto found = std::ranges::find(kept_.numbers, std::optional((*event)->device));
    if (found == kept_.numbers.end()) return std::nullopt;
    (*event)->device = static_cast<std::uint32_t>(found - kept_.numbers.begin());
    return event;
  }

 private:
  Expected<std::uint32_t> number_of(std::uint32_t device) const {
    const bool is_known = device < kept_.numbers.size();
    if (port_ && is_known && kept_.numbers[device]) return *kept_.numbers[device];
    return fail(ErrorCode::NotFound, "GPU " + std::to_string(device) + ": " +
                                         (is_known ? kept_.list[device].problem : "there is none"));
  }

  std::unique_ptr<GpuPort> port_;
  KeptGpus kept_;
};

}  // namespace

KeptGpus keep_numbers(const std::vector<Device>& before, const std::vector<Device>& now,
                      const std::string& gone) {
  KeptGpus kept{.list = {}, .numbers = numbers_now(before, now), .fresh = {}};
  for (std::uint32_t i = 0; i < before.size(); ++i) {
    const auto& number = kept.numbers[i];
    Device device = number ? now[*number] : before[i];
    if (device.name.empty()) device.name = before[i].name;
    if (device.uuid.empty()) device.uuid = before[i].uuid;
    if (device.total == Bytes(0)) {
      device.total = before[i].total;
      device.reserved = before[i].reserved;
    }
    device.index = i;
    if (!number) {
      device.problem = gone;
      device.board = kNoBoard;  // its numbers may be another's now
      device.minor.reset();
      device.gpu_instance.reset();
      device.compute_instance.reset();
    }
    kept.list.push_back(std::move(device));
  }
  for (const Device& device : now) {
    if (std::ranges::find(kept.numbers, std::optional(device.index)) == kept.numbers.end()) {
      kept.fresh.push_back(device.index);
    }
  }
  return kept;
}

bool has_only_lost(const std::vector<Device>& before, const std::vector<Device>& now) {
  const auto numbers = numbers_now(before, now);
  const auto found = static_cast<std::size_t>(
      std::ranges::count_if(numbers, [](const auto& number) { return number.has_value(); }));
  return found == now.size() && found < before.size();
}

std::unique_ptr<GpuPort> under_kept_numbers(std::unique_ptr<GpuPort> port, KeptGpus kept) {
  return std::make_unique<NumberedPort>(std::move(port), std::move(kept));
}

}  // namespace berth
