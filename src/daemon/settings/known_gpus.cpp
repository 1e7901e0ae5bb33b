#include "daemon/settings/known_gpus.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/limits.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

using nlohmann::json;

std::optional<Device> known_device_in(const json& entry) {
  const auto text = [&](const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto bytes = [&](const char* key) {
    const auto found = entry.find(key);
    const bool is_number = found != entry.end() && found->is_number_integer();
    return Bytes(is_number ? found->get<std::int64_t>() : -1);
  };
  if (!entry.is_object()) return std::nullopt;
  Device device{.name = text("name"),
                .uuid = text("uuid"),
                .bus_id = text("bus_id"),
                .total = bytes("total_bytes"),
                .reserved = bytes("reserved_bytes"),
                .mig_profile = text("mig_profile")};
  const bool is_sane = device.reserved >= Bytes(0) && device.total >= device.reserved &&
                       device.total <= limits::kMostMemory;
  return is_sane ? std::optional(std::move(device)) : std::nullopt;
}

}  // namespace

std::string text_of_gpus(const std::vector<Device>& devices) {
  json list = json::array();
  for (const Device& device : devices) {
    list.push_back({{"name", device.name},
                    {"uuid", device.uuid},
                    {"bus_id", device.bus_id},
                    {"total_bytes", device.total.raw()},
                    {"reserved_bytes", device.reserved.raw()},
                    {"mig_profile", device.mig_profile}});
  }
  return list.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<std::vector<Device>> read_gpus(const std::string& text) {
  const json list = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.size() > limits::kMostGpusOfNode) return std::nullopt;
  std::vector<Device> devices;
  for (const json& entry : list) {
    auto device = known_device_in(entry);
    if (!device) return std::nullopt;
    device->index = device->board = static_cast<std::uint32_t>(devices.size());
    devices.push_back(std::move(*device));
  }
  return devices;
}

void remember_gpus(const std::string& path, const std::vector<Device>& devices) {
  if (!replace_small_file(path, text_of_gpus(devices))) ::unlink(path.c_str());
}

bool are_of(const std::vector<Device>& devices, const Cluster& cluster) {
  if (devices.size() != cluster.gpus().size()) return false;
  return std::ranges::all_of(devices, [&](const Device& device) {
    const GpuSpec& spec = cluster.gpu(GpuId(device.index));
    const std::string& type = cluster.type_names()[spec.type];
    const bool has_name = device.name.empty() || device.name == type;
    return has_name &&
           (device.total == Bytes(0) || device.total - device.reserved >= spec.capacity);
  });
}

std::vector<Device> gpus_as_of(const Cluster& cluster) {
  std::vector<Device> devices;
  for (const GpuId gpu : cluster.gpu_ids()) {
    const GpuSpec& spec = cluster.gpu(gpu);
    devices.push_back({.index = gpu.value(),
                       .name = cluster.type_names()[spec.type],
                       .total = spec.capacity,
                       .board = gpu.value()});
  }
  return devices;
}

}  // namespace berth::daemon
