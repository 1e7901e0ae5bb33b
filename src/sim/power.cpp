#include "sim/power.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/by_type.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

namespace {

constexpr double kMostWatts = 1e5;

/// `IDLE:BUSY`.
std::optional<Watts> watts(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto idle = number_up_to(text.substr(0, colon), kMostWatts);
  const auto busy = number_up_to(text.substr(colon + 1), kMostWatts);
  if (!idle || !busy || *idle > *busy) return std::nullopt;
  return Watts{*idle, *busy};
}

double kwh(const TypeEnergy& type) { return type.busy_kwh + type.idle_kwh; }

std::string line(const TypeEnergy& type) {
  char text[200];
  const int size = std::snprintf(
      text, sizeof text, "%.1f kWh: %.1f busy (%.1f GPU-hours), %.1f idle (%.1f GPU-hours)\n",
      kwh(type), type.busy_kwh, type.busy_gpu_hours, type.idle_kwh, type.idle_gpu_hours);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Expected<Power> parse_power(std::string_view text) {
  auto power = parse_by_type<Watts>(text, watts);
  if (power) return std::move(*power);
  return fail(ErrorCode::InvalidArgument,
              "--power: '" + std::string(text) +
                  "' is not IDLE:BUSY in watts up to 100000, busy at least as many as idle, or "
                  "TYPE=IDLE:BUSY with commas, every type once");
}

std::vector<TypeEnergy> energy_of(std::span<const Duration> busy, Duration whole,
                                  const Cluster& cluster, const Power& power) {
  std::vector<double> gpus(busy.size());
  for (const GpuSpec& gpu : cluster.gpus()) gpus[gpu.type] += 1;
  std::vector<TypeEnergy> energy;
  for (std::size_t type = 0; type < busy.size(); ++type) {
    const std::string& name = cluster.type_names()[type];
    const Watts* const watts = of_type(power, name);
    if (watts == nullptr || gpus[type] == 0) continue;
    TypeEnergy one{.type = name, .busy_gpu_hours = in_seconds(busy[type]) / 3600};
    one.idle_gpu_hours = std::max(0.0, gpus[type] * in_seconds(whole) / 3600 - one.busy_gpu_hours);
    one.busy_kwh = one.busy_gpu_hours * watts->busy / 1000;
    one.idle_kwh = one.idle_gpu_hours * watts->idle / 1000;
    energy.push_back(std::move(one));
  }
  return energy;
}

double kwh(std::span<const TypeEnergy> energy) {
  double sum = 0;
  for (const TypeEnergy& type : energy) sum += kwh(type);
  return sum;
}

nlohmann::ordered_json to_json(std::span<const TypeEnergy> energy) {
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const TypeEnergy& type : energy) {
    types[type.type] = {{"busy_gpu_hours", type.busy_gpu_hours},
                        {"idle_gpu_hours", type.idle_gpu_hours},
                        {"busy_kwh", type.busy_kwh},
                        {"idle_kwh", type.idle_kwh}};
  }
  return {{"kwh", kwh(energy)}, {"by_type", std::move(types)}};
}

std::string to_text(std::span<const TypeEnergy> energy) {
  TypeEnergy all;
  for (const TypeEnergy& type : energy) {
    all.busy_gpu_hours += type.busy_gpu_hours;
    all.idle_gpu_hours += type.idle_gpu_hours;
    all.busy_kwh += type.busy_kwh;
    all.idle_kwh += type.idle_kwh;
  }
  std::string text = "energy " + line(all);
  if (energy.size() < 2) return text;
  for (const TypeEnergy& type : energy) text += "  " + type.type + " " + line(type);
  return text;
}

}  // namespace berth::sim
