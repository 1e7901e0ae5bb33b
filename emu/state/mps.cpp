#include "emu/state/mps.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>

#include "emu/emulator.hpp"
#include "emu/state/ledger.hpp"

namespace berth::emu {

/// FNV-1a of what the name resolves to.
MpsServer server_of(const std::string& folder) {
  char resolved[PATH_MAX];
  const std::string name = ::realpath(folder.c_str(), resolved) == nullptr ? folder : resolved;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash == 0 ? 1 : hash;
}

std::optional<pid_t> control_of(const std::string& folder) {
  std::ifstream file(folder + "/" + kMpsPidFile);
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0 || !key_of(pid)) return std::nullopt;
  return pid;
}

std::string mps_folder() {
  const char* given = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return given == nullptr ? "/tmp/nvidia-mps" : given;
}

std::optional<std::string> visible_to_server(const std::string& folder) {
  std::ifstream file(folder + "/" + kMpsVisibleFile);
  std::string list;
  if (!std::getline(file, list)) return std::nullopt;
  return list;
}

std::vector<std::uint64_t> parse_pinned_limits(std::string_view text, std::size_t devices) {
  std::vector<std::uint64_t> limits(devices, 0);
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t device = 0;
    const auto [stop, error] = std::from_chars(entry.data(), entry.data() + entry.size(), device);
    const auto at = static_cast<std::size_t>(stop - entry.data());
    if (error != std::errc{} || at >= entry.size() || entry[at] != '=' || device >= devices) {
      return {};
    }
    const auto bytes = parse_bytes(entry.substr(at + 1));
    if (!bytes) return {};
    limits[device] = *bytes;
  }
  return limits;
}

void enter_mps(Layout& layout, std::uint32_t slot, const MpsTerms& terms) {
  auto& own = layout.mps[slot];
  for (const auto& [entry, bytes] : terms.limits) own.limits[entry].store(bytes / kGranule + 1);
  own.percentage.store(terms.thread_percentage);
  own.server.store(terms.server);
}

void leave_mps(Layout& layout, std::uint32_t slot) {
  auto& own = layout.mps[slot];
  own.server.store(0);
  for (auto& limit : own.limits) limit.store(0);
  own.percentage.store(0);
  own.fault.store(0);
}

std::vector<pid_t> clients_of(Layout& layout, MpsServer server) {
  reap_dead(layout);
  std::vector<pid_t> clients;
  for (std::uint32_t slot = 0; slot < used_slots(layout); ++slot) {
    const auto owner = layout.owners[slot].load();
    if (owner != 0 && layout.mps[slot].server.load() == server) clients.push_back(pid_of(owner));
  }
  std::ranges::sort(clients);
  return clients;
}

void fault(Layout& layout, std::uint32_t slot) {
  layout.mps[slot].fault.store(1);
  const auto server = layout.mps[slot].server.load();
  if (server == 0) return;
  for (std::uint32_t other = 0; other < used_slots(layout); ++other) {
    if (layout.mps[other].server.load() == server) layout.mps[other].fault.store(1);
  }
}

}  // namespace berth::emu
