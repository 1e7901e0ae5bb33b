#include "gpu/nvml.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/base/limits.hpp"
#include "gpu/host_memory.hpp"
#include "gpu/nvml_links.hpp"

namespace berth {

namespace {

using nvml::Result;

constexpr int kMostReadings = 3;
/// The driver's periods are a second.
constexpr std::chrono::microseconds kUseWindow = std::chrono::seconds(2);

std::uint32_t milliseconds(Duration timeout) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t whole = micros(timeout) / 1000 + (micros(timeout) % 1000 > 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::clamp(whole, std::int64_t{0}, kMost));
}

/// Memory and processes of one moment, as nearly as NVML allows: it answers them in two calls, so
/// the memory is read before and after. While it keeps moving the lower reading counts: memory
/// that a process took in between must not look like memory without an owner.
Expected<Sample> read_sample(const nvml::Api& api, const nvml::Gpu& gpu) {
  Sample sample;
  auto before = nvml::read_memory(api, gpu);
  for (int reading = 0; before && reading < kMostReadings; ++reading) {
    auto processes = nvml::read_processes(api, gpu, before->total);
    const auto after = nvml::read_memory(api, gpu);
    if (!after) return std::unexpected(after.error());
    sample.total = after->total;
    sample.reserved = after->reserved;
    sample.used = std::min(before->used, after->used);
    sample.processes.reset();
    if (processes) sample.processes = std::move(*processes);
    if (*before == *after) break;
    before = after;
  }
  if (!before) return std::unexpected(before.error());
  sample.utilisation_percent = nvml::read_utilisation(api, gpu);
  return sample;
}

/// Where the driver tells of processes only: the host's memory, of which everything else is in use.
/// Processes may hold more than Linux counts as used for a moment.
Expected<Sample> read_shared_sample(const nvml::Api& api, const nvml::Gpu& gpu) {
  const auto host = read_host_memory();
  if (!host) return std::unexpected(host.error());
  Sample sample{.total = host->total, .used = host->used};
  auto processes = nvml::read_processes(api, gpu, host->total);
  if (!processes) return std::unexpected(processes.error());
  Bytes listed(0);
  for (const GpuProcess& process : *processes) listed += process.bytes.value_or(Bytes(0));
  sample.used = std::min(sample.total, std::max(sample.used, listed));
  sample.processes = std::move(*processes);
  sample.utilisation_percent = nvml::read_utilisation(api, gpu);
  return sample;
}

}  // namespace

Expected<std::unique_ptr<Nvml>> Nvml::open(const std::string& library) {
  const auto api = nvml::open_api(library);
  if (!api) return std::unexpected(api.error());
  if (const Result result = api->init(); result != Result::Success) {
    return std::unexpected(nvml::error_of(*api, api->init.name, result));
  }
  std::unique_ptr<Nvml> nvml(new Nvml(*api));
  if (const auto found = nvml->find_gpus(); !found) return std::unexpected(found.error());
  nvml->listen();
  return nvml;
}

Nvml::~Nvml() {
  if (events_ != nullptr) api_.event_set_free(events_);
  api_.shutdown();
}

Expected<void> Nvml::find_gpus() {
  std::uint32_t count = 0;
  const Result result = api_.device_count(&count);
  if (result != Result::Success) {
    return std::unexpected(nvml::error_of(api_, api_.device_count.name, result));
  }
  if (count > limits::kMostGpusOfNode) {
    return fail(ErrorCode::BadData, std::string(api_.device_count.name) + ": " +
                                        std::to_string(count) + " GPUs, the most is " +
                                        std::to_string(limits::kMostGpusOfNode));
  }
  for (std::uint32_t board = 0; board < count; ++board) {
    const auto whole = nvml::read_handle(api_, board);
    if (whole) {
      add(*whole);
    } else {
      units_.push_back({.gpu = std::unexpected(whole.error()), .board = board});
    }
  }
  return {};
}

/// The GPU, or its instances if it is split.
void Nvml::add(const nvml::Gpu& whole) {
  std::vector<nvml::Gpu> parts;
  if (nvml::read_mig(api_, whole) == true) parts = nvml::read_instances(api_, whole);
  if (parts.empty()) parts.push_back(whole);
  for (nvml::Gpu part : parts) {
    part.index = static_cast<std::uint32_t>(units_.size());
    units_.push_back({.gpu = part, .board = whole.board});
  }
}

/// One set for all GPUs. A GPU that cannot register is heard of by sampling alone.
void Nvml::listen() {
  nvml::EventSet events = nullptr;
  if (const Result made = api_.event_set_create(&events); made != Result::Success) {
    no_events_ = nvml::error_of(api_, api_.event_set_create.name, made);
    return;
  }
  std::set<nvml::Handle> asked;  // instances are heard of through their GPU
  for (const auto& [gpu, board] : units_) {
    if (!gpu) continue;
    const nvml::Handle whole = gpu->is_instance() ? gpu->whole : gpu->handle;
    if (!asked.insert(whole).second) continue;
    const Result result = api_.register_events(whole, nvml::kEventXid, events);
    if (result == Result::Success) {
      events_ = events;
    } else {
      no_events_ = nvml::error_of(api_, api_.register_events.name, gpu->index, result);
    }
  }
  if (events_ == nullptr) api_.event_set_free(events);
}

/// A GPU that was refused when we opened may have come back.
Expected<nvml::Gpu> Nvml::gpu(std::uint32_t device) const {
  if (device >= units_.size()) {
    return fail(ErrorCode::InvalidArgument,
                "GPU " + std::to_string(device) + ": there are " + std::to_string(units_.size()));
  }
  if (units_[device].gpu) return units_[device].gpu;
  auto again = nvml::read_handle(api_, units_[device].board);
  if (again) again->index = device;
  return again;
}

Expected<Devices> Nvml::devices() {
  Devices devices{.driver_version = nvml::read_driver_version(api_)};
  std::vector<nvml::Gpu> usable;
  for (std::uint32_t index = 0; index < units_.size(); ++index) {
    const auto found = gpu(index);
    if (found) {
      devices.list.push_back(nvml::read_device(api_, *found));
      if (!found->is_instance()) usable.push_back(*found);
    } else {
      devices.list.push_back({.index = index,
                              .board = units_[index].board,
                              .problem = found.error().message,
                              .is_lost = found.error().code == ErrorCode::Lost});
    }
  }
  devices.links = nvml::read_links(api_, usable);
  return devices;
}

Expected<Sample> Nvml::sample(std::uint32_t device) {
  const auto found = gpu(device);
  if (!found) return std::unexpected(found.error());
  auto sample = read_now(*found);
  if (!sample) return sample;
  sample->millijoules = nvml::read_energy(api_, *found);
  add_uses(*found, *sample);
  return sample;
}

Expected<Sample> Nvml::glance(std::uint32_t device) {
  const auto found = gpu(device);
  if (!found) return std::unexpected(found.error());
  auto sample = read_now(*found);
  if (sample) sample->is_glance = true;
  return sample;
}

Expected<Sample> Nvml::read_now(const nvml::Gpu& gpu) {
  auto sample = read_sample(api_, gpu);
  if (!sample && nvml::hides_memory(api_, gpu)) sample = read_shared_sample(api_, gpu);
  if (sample) sample->ended = ended_since(gpu, *sample);
  return sample;
}

/// A GPU with one process tells as much by its own figure, once that is of no process that has
/// left. The driver says nothing of processes that did nothing, and where it says nothing at all
/// although the GPU was busy, nothing is known.
void Nvml::add_uses(const nvml::Gpu& gpu, Sample& sample) {
  if (!sample.processes || sample.processes->empty()) return;
  const std::lock_guard lock(listed_mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (sample.processes->size() > 1) {
    shared_until_[gpu.index] = now + kUseWindow;
  } else if (const auto at = shared_until_.find(gpu.index);
             at == shared_until_.end() || now >= at->second) {
    return;
  }
  std::uint64_t& newest = newest_use_[gpu.index];
  const std::uint64_t since = newest - std::min<std::uint64_t>(newest, kUseWindow.count());
  const auto uses = nvml::read_process_uses(api_, gpu, since);
  if (!uses) return;
  const bool is_idle = sample.utilisation_percent == 0U;  // then what is remembered is old
  if (uses->empty() && !is_idle) return;
  std::map<pid_t, std::uint32_t> most;
  for (const nvml::ProcessUse& use : *uses) {
    newest = std::max(newest, use.time);
    if (!is_idle) most[use.pid] = std::max(most[use.pid], use.percent);
  }
  for (GpuProcess& process : *sample.processes) {
    if (process.is_mps_client) continue;
    const auto use = most.find(process.pid);
    process.utilisation_percent = use == most.end() ? 0 : use->second;
  }
}

/// Asked once of each: the driver's accounts outlive the process.
std::vector<GpuProcess> Nvml::ended_since(const nvml::Gpu& gpu, const Sample& sample) {
  std::vector<GpuProcess> ended;
  if (!sample.processes || !api_.accounting_stats) return ended;
  std::set<pid_t> now;
  for (const GpuProcess& process : *sample.processes) now.insert(process.pid);
  std::set<pid_t> before;
  {
    const std::lock_guard lock(listed_mutex_);
    before = std::exchange(listed_[gpu.index], now);
  }
  for (const pid_t pid : before) {
    if (now.contains(pid)) continue;
    const auto most = nvml::read_most_held(api_, gpu, pid, sample.total);
    if (most) ended.push_back({.pid = pid, .bytes = most});
  }
  return ended;
}

Expected<void> Nvml::keep_accounts(std::uint32_t device) {
  const auto found = gpu(device);
  if (!found) return std::unexpected(found.error());
  const Result result = api_.set_accounting_mode(found->handle, nvml::kEnabled);
  if (result == Result::Success) return {};
  return std::unexpected(nvml::error_of(api_, api_.set_accounting_mode.name, device, result));
}

Expected<std::optional<GpuEvent>> Nvml::wait_event(Duration timeout) {
  if (events_ == nullptr) return std::unexpected(no_events_);
  if (auto next = take_heard()) return next;
  nvml::EventData data{};
  const Result result = api_.event_set_wait(events_, &data, milliseconds(timeout));
  if (result == Result::Timeout) return std::nullopt;
  if (result != Result::Success) {
    return std::unexpected(nvml::error_of(api_, api_.event_set_wait.name, result));
  }
  if (data.type != nvml::kEventXid) return std::nullopt;
  for (const auto& [gpu, board] : units_) {
    if (!gpu || (gpu->handle != data.device && gpu->whole != data.device)) continue;
    heard_.push_back({.device = gpu->index, .xid = data.data});
  }
  return take_heard();
}

std::optional<GpuEvent> Nvml::take_heard() {
  if (heard_.empty()) return std::nullopt;
  const GpuEvent event = heard_.front();
  heard_.pop_front();
  return event;
}

}  // namespace berth
