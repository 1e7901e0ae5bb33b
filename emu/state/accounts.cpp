#include "emu/state/accounts.hpp"

#include <algorithm>

namespace berth::emu {
namespace {

AccountRecord* account_of(GpuState& gpu, ProcessKey owner) {
  const auto found = std::ranges::find_if(
      gpu.accounts, [&](const AccountRecord& record) { return record.owner.load() == owner; });
  return found == gpu.accounts.end() ? nullptr : &*found;
}

void raise(SharedWord& most, std::uint64_t granules) {
  auto known = most.load();
  while (known < granules && !most.compare_exchange_weak(known, granules)) {
  }
}

}  // namespace

void note_held(Layout& layout, std::uint32_t gpu, ProcessKey owner, std::uint64_t granules) {
  if (layout.header.keeps_accounts.load() == 0 || owner == 0 || granules == 0) return;
  auto& state = layout.gpus[gpu];
  if (auto* const record = account_of(state, owner)) return raise(record->most, granules);
  auto& record = state.accounts[state.next_account.fetch_add(1) % kAccounts];
  record.owner.store(0);
  record.most.store(granules);
  record.owner.store(owner);
}

std::optional<std::uint64_t> most_held(const Layout& layout, std::uint32_t gpu, pid_t process) {
  std::optional<std::uint64_t> most;
  const auto& state = layout.gpus[gpu];
  const auto next = state.next_account.load();
  const auto kept = std::min<std::uint64_t>(next, kAccounts);
  for (std::uint64_t back = kept; back > 0; --back) {  // a later process with the number counts
    const auto& record = state.accounts[(next - back) % kAccounts];
    const auto owner = record.owner.load();
    if (owner != 0 && pid_of(owner) == process) most = record.most.load();
  }
  return most;
}

std::vector<pid_t> remembered(const Layout& layout, std::uint32_t gpu) {
  std::vector<pid_t> processes;
  for (const auto& record : layout.gpus[gpu].accounts) {
    if (const auto owner = record.owner.load(); owner != 0) processes.push_back(pid_of(owner));
  }
  std::ranges::sort(processes);
  const auto rest = std::ranges::unique(processes);
  processes.erase(rest.begin(), rest.end());
  return processes;
}

}  // namespace berth::emu
