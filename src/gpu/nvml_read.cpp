#include "gpu/nvml_read.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/limits.hpp"
#include "gpu/host_memory.hpp"

namespace berth::nvml {

namespace {

constexpr std::size_t kFirstRoom = 64;  // processes a list has room for at first
constexpr std::size_t kMostProcesses = 1U << 16;
constexpr int kMostTries = 8;
constexpr std::uint32_t kMostInstances = 64;  // seven today

std::string text_of(const char* text, std::size_t room) { return {text, strnlen(text, room)}; }

Bytes bytes_of(std::uint64_t count) { return Bytes(static_cast<std::int64_t>(count)); }

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// `3g.40gb` of `NVIDIA H100 80GB HBM3 MIG 3g.40gb`.
std::string profile_in(const std::string& name) {
  constexpr std::string_view kMark = " MIG ";
  const std::size_t at = name.rfind(kMark);
  return at == std::string::npos ? "" : name.substr(at + kMark.size());
}

/// The answer of a call that fills a buffer with text; "" if it has none.
template <class Call>
std::string read_text(const Call& call) {
  std::array<char, 128> buffer{};  // NVML asks for 96 at most
  const Result result = call(buffer.data(), static_cast<std::uint32_t>(buffer.size()));
  return result == Result::Success ? text_of(buffer.data(), buffer.size()) : std::string();
}

std::string read_bus_id(const Api& api, Handle handle) {
  Pci pci{};
  if (api.pci(handle, &pci) != Result::Success) return {};
  const bool has_long = std::string_view(api.pci.name).ends_with("_v3");
  return has_long ? text_of(pci.bus_id, sizeof pci.bus_id)
                  : text_of(pci.bus_id_legacy, sizeof pci.bus_id_legacy);
}

Expected<Memory> checked(const char* call, const Gpu& gpu, const MemoryV2& memory) {
  const bool is_sane = memory.total > 0 &&
                       memory.total <= static_cast<std::uint64_t>(limits::kMostMemory.raw()) &&
                       memory.reserved <= memory.total && memory.used <= memory.total;
  if (!is_sane) {
    return fail(ErrorCode::BadData, std::string(call) + " on GPU " + std::to_string(gpu.index) +
                                        ": used " + mebibytes(memory.used) + " and reserved " +
                                        mebibytes(memory.reserved) + " of " +
                                        mebibytes(memory.total));
  }
  return Memory{.total = bytes_of(memory.total),
                .reserved = bytes_of(memory.reserved),
                .used = bytes_of(memory.used)};
}

Expected<Memory> memory_of_host() {
  const auto host = read_host_memory();
  if (!host) return std::unexpected(host.error());
  return Memory{.total = host->total, .reserved = Bytes(0), .used = host->used};
}

Expected<Memory> read_memory_v1(const Api& api, const Gpu& gpu) {
  MemoryV1 memory{};
  const Result result = api.memory_v1(gpu.handle, &memory);
  if (result != Result::Success) {
    return std::unexpected(error_of(api, api.memory_v1.name, gpu.index, result));
  }
  return checked(api.memory_v1.name, gpu, {.total = memory.total, .used = memory.used});
}

/// NVML's way of giving a list: room in `count` on entry, what it needs on return.
template <class Entry>
Expected<std::vector<Entry>> read_list(const Api& api, const ListFunction& list, const Gpu& gpu) {
  Result result = Result::InsufficientSize;
  std::size_t room = kFirstRoom;
  for (int turn = 0; turn < kMostTries && room <= kMostProcesses; ++turn) {
    std::vector<Entry> entries(room);
    auto count = static_cast<std::uint32_t>(room);
    result = list.call(gpu.handle, &count, entries.data());
    if (result == Result::Success && count <= room) {
      entries.resize(count);
      return entries;
    }
    if (result != Result::InsufficientSize) break;
    room = std::size_t{count} + kFirstRoom;  // more may have come since it counted
  }
  if (result == Result::Success || result == Result::InsufficientSize) {
    return fail(ErrorCode::BadData, std::string(list.call.name) + " on GPU " +
                                        std::to_string(gpu.index) + ": its list has no end");
  }
  return std::unexpected(error_of(api, list.call.name, gpu.index, result));
}

std::optional<std::uint32_t> read_number(const Function<Handle, std::uint32_t*>& call,
                                         Handle handle) {
  std::uint32_t number = 0;
  return call(handle, &number) == Result::Success ? std::optional(number) : std::nullopt;
}

/// Bytes per pid; nothing where the driver does not say.
using Holdings = std::map<pid_t, std::optional<Bytes>>;

std::optional<Bytes> figure_of(std::uint64_t bytes, Bytes total) {
  if (bytes > static_cast<std::uint64_t>(total.raw())) return std::nullopt;
  return bytes_of(bytes);
}

template <class Entry>
Expected<Holdings> read_holdings(const Api& api, const ListFunction& list, const Gpu& gpu,
                                 Bytes total) {
  const auto entries = read_list<Entry>(api, list, gpu);
  if (!entries) return std::unexpected(entries.error());
  Holdings holdings;
  for (const Entry& entry : *entries) {
    const auto figure = figure_of(entry.bytes, total);
    const auto [held, is_new] = holdings.try_emplace(static_cast<pid_t>(entry.pid), figure);
    // Twice in one list is a process on two instances: they add.
    if (!is_new)
      held->second = held->second && figure ? std::optional(*held->second + *figure) : std::nullopt;
  }
  return holdings;
}

Expected<Holdings> read_holdings(const Api& api, const ListFunction& list, const Gpu& gpu,
                                 Bytes total) {
  return list.has_instances ? read_holdings<ProcessV2>(api, list, gpu, total)
                            : read_holdings<ProcessV1>(api, list, gpu, total);
}

/// A process in two lists has the same memory in both, so the larger figure is the process's.
void merge(Holdings& into, const Holdings& more) {
  for (const auto& [pid, figure] : more) {
    const auto [held, is_new] = into.try_emplace(pid, figure);
    if (!is_new) held->second = std::max(held->second, figure);
  }
}

ErrorCode code_of(Result result) {
  if (result == Result::GpuIsLost) return ErrorCode::Lost;
  return result == Result::FunctionNotFound ? ErrorCode::NotFound : ErrorCode::Io;
}

}  // namespace

Error error_of(const Api& api, const char* call, std::uint32_t gpu, Result result) {
  return {code_of(result),
          std::string(call) + " on GPU " + std::to_string(gpu) + ": " + api.words(result)};
}

Error error_of(const Api& api, const char* call, Result result) {
  return {code_of(result), std::string(call) + ": " + api.words(result)};
}

std::string read_driver_version(const Api& api) {
  return read_text([&](char* text, std::uint32_t room) { return api.driver_version(text, room); });
}

Expected<Gpu> read_handle(const Api& api, std::uint32_t board) {
  Gpu gpu{.index = board, .board = board};
  const Result result = api.handle_by_index(board, &gpu.handle);
  if (result == Result::Success) return gpu;
  return std::unexpected(error_of(api, api.handle_by_index.name, board, result));
}

std::optional<bool> read_mig(const Api& api, const Gpu& gpu) {
  std::uint32_t current = 0;
  std::uint32_t pending = 0;
  const Result result = api.mig_mode(gpu.handle, &current, &pending);
  if (result == Result::NotSupported) return false;  // a model without MIG
  if (result != Result::Success) return std::nullopt;
  return current == kMigEnabled;
}

/// Places may be empty in between.
std::vector<Gpu> read_instances(const Api& api, const Gpu& whole) {
  std::uint32_t most = 0;
  if (api.most_instances(whole.handle, &most) != Result::Success) return {};
  std::vector<Gpu> instances;
  for (std::uint32_t at = 0; at < std::min(most, kMostInstances); ++at) {
    Gpu instance{.board = whole.board, .whole = whole.handle};
    const Result result = api.instance_by_index(whole.handle, at, &instance.handle);
    if (result == Result::Success) instances.push_back(instance);
  }
  return instances;
}

Device read_device(const Api& api, const Gpu& gpu) {
  Device device{.index = gpu.index, .board = gpu.board};
  device.name =
      read_text([&](char* text, std::uint32_t room) { return api.name(gpu.handle, text, room); });
  device.uuid =
      read_text([&](char* text, std::uint32_t room) { return api.uuid(gpu.handle, text, room); });
  device.bus_id = read_bus_id(api, gpu.is_instance() ? gpu.whole : gpu.handle);
  device.mig = gpu.is_instance() ? true : read_mig(api, gpu);
  device.minor = read_number(api.minor_number, gpu.is_instance() ? gpu.whole : gpu.handle);
  if (gpu.is_instance()) {
    device.mig_profile = profile_in(device.name);
    device.gpu_instance = read_number(api.gpu_instance_id, gpu.handle);
    device.compute_instance = read_number(api.compute_instance_id, gpu.handle);
  }
  int accounting = 0;
  if (api.accounting_mode(gpu.handle, &accounting) == Result::Success) {
    device.accounts = accounting == kEnabled;
  }
  device.tells_process_use = read_process_uses(api, gpu, 0).has_value();
  device.shares_memory = hides_memory(api, gpu);
  const auto memory = device.shares_memory ? memory_of_host() : read_memory(api, gpu);
  if (memory) {
    device.total = memory->total;
    device.reserved = memory->reserved;
  } else {
    device.problem = memory.error().message;
    device.is_lost = memory.error().code == ErrorCode::Lost;
  }
  if (device.mig == true && !gpu.is_instance()) {
    device.problem = "MIG is on and it has no instance: cut some, or turn MIG off";
  }
  return device;
}

bool hides_memory(const Api& api, const Gpu& gpu) {
  MemoryV2 second{.version = kMemoryV2Tag};
  MemoryV1 first{};
  return api.memory_v2(gpu.handle, &second) == Result::NotSupported &&
         api.memory_v1(gpu.handle, &first) == Result::NotSupported;
}

Expected<Memory> read_memory(const Api& api, const Gpu& gpu) {
  MemoryV2 memory{.version = kMemoryV2Tag};
  const Result result = api.memory_v2(gpu.handle, &memory);
  if (result == Result::Success) return checked(api.memory_v2.name, gpu, memory);
  if (result == Result::GpuIsLost) {
    return std::unexpected(error_of(api, api.memory_v2.name, gpu.index, result));
  }
  return read_memory_v1(api, gpu);
}

Expected<std::vector<GpuProcess>> read_processes(const Api& api, const Gpu& gpu, Bytes total) {
  auto holdings = read_holdings(api, api.compute_processes, gpu, total);
  if (!holdings) return std::unexpected(holdings.error());
  // Servers' drivers may not list these; what such a process holds is then unattributed.
  if (const auto more = read_holdings(api, api.graphics_processes, gpu, total)) {
    merge(*holdings, *more);
  }
  const auto clients = read_holdings(api, api.mps_processes, gpu, total);
  if (clients) merge(*holdings, *clients);
  std::vector<GpuProcess> processes;
  for (const auto& [pid, figure] : *holdings) {
    processes.push_back(
        {.pid = pid, .bytes = figure, .is_mps_client = clients && clients->contains(pid)});
  }
  return processes;
}

std::optional<std::uint32_t> read_utilisation(const Api& api, const Gpu& gpu) {
  Utilisation utilisation{};
  if (api.utilisation(gpu.handle, &utilisation) != Result::Success) return std::nullopt;
  if (utilisation.gpu > 100) return std::nullopt;
  return utilisation.gpu;
}

namespace {

std::uint32_t busiest(const ProcessUtilisation& use) {
  return std::max({use.sm, use.encoder, use.decoder});
}
std::uint32_t busiest(const ProcessUtilisationInfo& use) {
  return std::max({use.sm, use.encoder, use.decoder, use.jpeg, use.optical_flow});
}

/// By `call`, which takes the room and a count and gives NVML's answer.
template <class Entry, class Call>
std::optional<std::vector<ProcessUse>> read_uses(const Call& call) {
  std::size_t room = kFirstRoom;
  for (int turn = 0; turn < kMostTries && room <= kMostProcesses; ++turn) {
    std::vector<Entry> entries(room);
    auto count = static_cast<std::uint32_t>(room);
    const Result result = call(entries.data(), count);
    if (result == Result::NotFound) return std::vector<ProcessUse>();  // nobody did anything
    if (result == Result::Success && count <= room) {
      entries.resize(count);
      std::vector<ProcessUse> uses;
      for (const Entry& entry : entries) {
        uses.push_back({.pid = static_cast<pid_t>(entry.pid),
                        .time = entry.time,
                        .percent = std::min(busiest(entry), 100U)});
      }
      return uses;
    }
    if (result != Result::InsufficientSize) return std::nullopt;
    room = std::max<std::size_t>(count, room) + kFirstRoom;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<ProcessUse>> read_process_uses(const Api& api, const Gpu& gpu,
                                                         std::uint64_t since) {
  if (gpu.is_instance()) return std::nullopt;
  auto uses = read_uses<ProcessUtilisation>([&](ProcessUtilisation* entries, std::uint32_t& count) {
    return api.process_utilisation(gpu.handle, entries, &count, since);
  });
  if (uses) return uses;
  return read_uses<ProcessUtilisationInfo>(
      [&](ProcessUtilisationInfo* entries, std::uint32_t& count) {
        ProcessesUtilisationInfo info{
            .version = kProcessesUtilisationTag, .count = count, .since = since, .list = entries};
        const Result result = api.processes_utilisation(gpu.handle, &info);
        count = info.count;
        return result;
      });
}

std::optional<std::int64_t> read_energy(const Api& api, const Gpu& gpu) {
  unsigned long long millijoules = 0;
  if (gpu.is_instance() || api.energy(gpu.handle, &millijoules) != Result::Success) {
    return std::nullopt;
  }
  if (!std::in_range<std::int64_t>(millijoules)) return std::nullopt;
  return static_cast<std::int64_t>(millijoules);
}

std::optional<Bytes> read_most_held(const Api& api, const Gpu& gpu, pid_t process, Bytes total) {
  AccountingStats stats{};
  const Result result =
      api.accounting_stats(gpu.handle, static_cast<std::uint32_t>(process), &stats);
  if (result != Result::Success) return std::nullopt;
  return figure_of(stats.most_memory, total);
}

}  // namespace berth::nvml
