#include "engine/possible.hpp"

#include <algorithm>
#include <limits>

#include "core/account.hpp"
#include "core/admission.hpp"
#include "core/base/limits.hpp"
#include "core/text/text.hpp"

namespace berth {

namespace {

/// What one job may use of this GPU with so many processes.
Bytes grantable(const GpuSpec& gpu, const GpuRequest& request) {
  return gpu.capacity - gpu.context * request.processes;
}

/// True if any GPU would do, which most requests find without looking at every GPU.
bool any_gpu_will_do(const GpuRequest& request, const Cluster& cluster) {
  return !is_choosy(request) && request.processes == 1 && request.count <= cluster.gpu_count() &&
         request.vram <= cluster.least_room();
}

std::optional<std::string> why_no_gpus(const GpuRequest& request, const Cluster& cluster) {
  if (any_gpu_will_do(request, cluster)) return std::nullopt;
  std::int64_t accepted = 0;
  std::int64_t large_enough = 0;
  Bytes largest(0);
  for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
    if (!accepts(request, cluster.gpu(GpuId(g)))) continue;
    const Bytes room = grantable(cluster.gpu(GpuId(g)), request);
    ++accepted;
    largest = std::max(largest, room);
    if (request.vram == Bytes(0) || request.vram <= room) ++large_enough;
  }
  const std::string wanted =
      std::to_string(request.count.raw()) + (request.count == GpuCount(1) ? " GPU" : " GPUs");
  if (request.count.raw() > accepted) {
    return "asks " + wanted + ", the cluster has " + std::to_string(accepted) +
           (request.only != 0    ? " of those it accepts"
            : request.types != 0 ? " of the types it accepts"
                                 : "");
  }
  if (request.count.raw() > 0 && large_enough == 0) {
    return "asks " + to_text(request.vram) + " per GPU, the most a GPU here can give is " +
           to_text(largest);
  }
  if (request.count.raw() > large_enough) {
    return "asks " + wanted + " of " + to_text(request.vram) + ", the cluster has " +
           std::to_string(large_enough) + " that large";
  }
  return std::nullopt;
}

/// The sum, or the largest amount there is: nodes without a bound state a very large one.
template <class Amount>
Amount sum_of(Amount a, Amount b) {
  const Amount most(std::numeric_limits<std::int64_t>::max());
  return a > most - b ? most : a + b;
}

std::optional<std::string> why_no_host(const Request& request, const Cluster& cluster) {
  if (request.cpu == CpuMilli(0) && request.host == Bytes(0)) return std::nullopt;
  CpuMilli cpu(0);
  Bytes host(0);
  for (const NodeSpec& node : cluster.nodes()) {
    cpu = request.gpu.count > GpuCount(1) ? sum_of(cpu, node.cpu) : std::max(cpu, node.cpu);
    host = request.gpu.count > GpuCount(1) ? sum_of(host, node.host) : std::max(host, node.host);
  }
  if (request.cpu > cpu) {
    return "asks " + cores_text(request.cpu) + " cores, the limit is " + cores_text(cpu);
  }
  if (request.host > host) {
    return "asks " + to_text(request.host) + " of host memory, the limit is " + to_text(host);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_senseless(const Request& request) {
  const GpuRequest& gpu = request.gpu;
  const auto below = [](const char* what, std::int64_t value, std::int64_t least) {
    return std::string("asks ") + std::to_string(value) + " " + what + ", the least is " +
           std::to_string(least);
  };
  if (gpu.count < GpuCount(0)) return below("GPUs", gpu.count.raw(), 0);
  if (gpu.is_elastic() && (gpu.min < GpuCount(1) || gpu.min > gpu.count || gpu.max < gpu.count)) {
    return "runs on " + std::to_string(gpu.min.raw()) + " to " + std::to_string(gpu.max.raw()) +
           " GPUs and asks " + std::to_string(gpu.count.raw()) + ", which must be between";
  }
  if (!gpu.is_elastic() && gpu.min != GpuCount(0)) {
    return "runs on " + std::to_string(gpu.min.raw()) + " GPUs at least and says no most";
  }
  if (gpu.vram < Bytes(0)) return below("bytes of GPU memory", gpu.vram.raw(), 0);
  if (request.host < Bytes(0)) return below("bytes of host memory", request.host.raw(), 0);
  if (request.cpu < CpuMilli(0)) return below("thousandths of a core", request.cpu.raw(), 0);
  if (gpu.processes < 1) return below("processes per GPU", gpu.processes, 1);
  if (gpu.processes > limits::kMostGpuProcesses) {
    return "asks " + std::to_string(gpu.processes) + " processes per GPU, the most is " +
           std::to_string(limits::kMostGpuProcesses);
  }
  if (gpu.milli < GpuMilli(0)) return below("thousandths of a GPU", gpu.milli.raw(), 0);
  if (gpu.milli > kWholeGpu) {
    return "asks " + std::to_string(gpu.milli.raw()) + " thousandths of each GPU, the most is 1000";
  }
  return std::nullopt;
}

std::optional<std::string> why_impossible(JobId job, const Request& request,
                                          const Cluster& cluster) {
  auto why = why_senseless(request);
  if (!why) why = why_no_gpus(request.gpu, cluster);
  if (!why) why = why_no_host(request, cluster);
  if (why) return "job " + std::to_string(job.value()) + ": " + *why;
  return std::nullopt;
}

std::optional<std::string> why_unkeepable(JobId job, const JobSpec& spec) {
  const Conditions& asked = *spec.conditions;
  const auto why = [&]() -> std::optional<std::string> {
    if (asked.after.size() > limits::kMostDependencies) {
      return "waits for " + std::to_string(asked.after.size()) + " jobs, the most is " +
             std::to_string(limits::kMostDependencies);
    }
    if (asked.begin < kStart || asked.begin > limits::kLastInstant) {
      return "begins at " + seconds_text(asked.begin) + ", the last is " +
             seconds_text(limits::kLastInstant) + " (2200-01-01)";
    }
    if (asked.array.task < 0 || asked.array.tasks < 0 || asked.array.at_once < 0) {
      return "has no place in an array that could be";
    }
    if (asked.requeues < 0) return "runs again a negative number of times";
    const Saving& saving = asked.on_preempt;
    const bool saves = saving.signal >= 0 && saving.signal <= limits::kLastSignal &&
                       saving.grace >= Duration::zero() && saving.grace <= limits::kLongestTime;
    if (!saves) return "saves its state at a signal, or for a time, that there is not";
    return std::nullopt;
  }();
  if (why) return "job " + std::to_string(job.value()) + ": " + *why;
  return std::nullopt;
}

bool is_sensible(const Settings& settings) {
  const Admission& admission = settings.admission;
  return admission.guard_floor >= Bytes(0) && admission.guard_floor <= limits::kMostMemory &&
         admission.guard_ppm >= 0 && admission.guard_ppm <= 1'000'000 &&
         settings.service_half_life > Duration::zero() &&
         std::ranges::all_of(
             settings.gpu_values,
             [](const auto& entry) { return entry.second >= 1 && entry.second <= kMostValue; }) &&
         std::ranges::all_of(settings.user_limits, [](const auto& entry) {
           return entry.second.gpus >= GpuCount(0) && entry.second.jobs >= 0;
         });
}

bool is_sensible(const PreemptionBounds& bounds) {
  return bounds.most >= 0 && bounds.lost >= Duration::zero();
}

bool is_sensible(const Weighed& weighed) {
  return std::ranges::all_of(weighed.weights_milli, [](const auto& entry) {
    return entry.second >= 1 && entry.second <= kMostWeight;
  });
}

bool is_sensible(const Reservation& reservation, std::size_t gpus) {
  const auto ascend = [](const auto& ids) {
    return !ids.empty() &&
           std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end();
  };
  return ascend(reservation.gpus) && ascend(reservation.users) &&
         reservation.gpus.back().value() < gpus && reservation.from < reservation.until &&
         reservation.from >= kStart;
}

bool is_sensible(const Measured& measured) {
  const auto is_memory = [](Bytes bytes) {
    return bytes >= Bytes(0) && bytes <= limits::kMostMemory;
  };
  return is_memory(measured.foreign) && is_memory(measured.used) &&
         measured.utilisation >= kUnknownUtilisation && measured.utilisation <= 100 &&
         std::ranges::all_of(measured.tenants, is_memory, &TenantUse::bytes);
}

}  // namespace berth
