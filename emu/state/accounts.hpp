// The driver's accounts of processes: the most memory that each held on a GPU, also after its end.
//
// A ring of records for each GPU: the latest kAccounts processes are remembered. Thread-safety:
// lock-free; a process that dies between two instructions leaves a record that is too low or free.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emu/state/layout.hpp"
#include "emu/state/process.hpp"

namespace berth::emu {

/// The process holds so much now. Does nothing where no accounts are kept.
void note_held(Layout& layout, std::uint32_t gpu, ProcessKey owner, std::uint64_t granules);

/// The most that the latest process with this number held; nothing if it is not remembered.
std::optional<std::uint64_t> most_held(const Layout& layout, std::uint32_t gpu, pid_t process);

/// Numbers of all processes that are remembered, each once.
std::vector<pid_t> remembered(const Layout& layout, std::uint32_t gpu);

}  // namespace berth::emu
