// Clients of MPS servers: who is one, what it may have, and what a fault does to the others.
//
// A server is known by the folder of its pipes, CUDA_MPS_PIPE_DIRECTORY, in which its control
// daemon (emu/mps) keeps its pid. A process whose folder has no live control daemon runs without
// MPS and without limits, as with NVIDIA's. A client sees no other GPUs than its server, and counts
// them as that does unless it chooses among them. A fatal fault of one client is a fault of every
// client of its server.
//
// Differs from NVIDIA's: there is no server process, clients still take turns on the GPU, and a
// server takes new clients at once after a fault.
//
// Thread-safety: lock-free between processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/state/layout.hpp"
#include "emu/state/process.hpp"

namespace berth::emu {

/// Names a server: a hash of its folder's full name. Never 0.
using MpsServer = std::uint64_t;
MpsServer server_of(const std::string& folder);

/// The file in a server's folder with the pid of its control daemon.
inline constexpr const char* kMpsPidFile = "nvidia-cuda-mps-control.pid";
/// The control daemon of a folder, if it lives.
std::optional<pid_t> control_of(const std::string& folder);
/// A process's folder, by its environment.
std::string mps_folder();

/// Beside it, the CUDA_VISIBLE_DEVICES that the daemon was started with, if it had one.
inline constexpr const char* kMpsVisibleFile = "emulated-visible-devices";
std::optional<std::string> visible_to_server(const std::string& folder);

/// "0=1G,1=512MB": bytes by device number. Nothing at all if one entry is none or names a device
/// that is not there: then NVIDIA's driver drops all of them.
std::vector<std::uint64_t> parse_pinned_limits(std::string_view text, std::size_t devices);

/// What a client may have.
struct MpsTerms {
  MpsServer server = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> limits;  // entry of Layout::gpus, bytes
  std::uint32_t thread_percentage = 100;
};
void enter_mps(Layout& layout, std::uint32_t slot, const MpsTerms& terms);
/// Of a slot that has a new owner.
void leave_mps(Layout& layout, std::uint32_t slot);

/// Live clients of a server, ascending by pid.
std::vector<pid_t> clients_of(Layout& layout, MpsServer server);

/// A kernel of this slot trapped: its process can make no further call, nor can the clients of its
/// server.
void fault(Layout& layout, std::uint32_t slot);
inline bool has_faulted(const Layout& layout, std::uint32_t slot) {
  return layout.mps[slot].fault.load() != 0;
}

}  // namespace berth::emu
