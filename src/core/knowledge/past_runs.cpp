#include "core/knowledge/past_runs.hpp"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

std::uint64_t latest_of(const PastProgram& program) { return program.latest; }
std::uint64_t latest_of(const PastRuns::Programs& programs) {
  std::uint64_t latest = 0;
  for (const auto& [what, program] : programs) latest = std::max(latest, program.latest);
  return latest;
}

/// Drops what has not run for longest.
template <class Map>
void make_room(Map& map, std::size_t most) {
  if (map.size() < most) return;
  map.erase(std::ranges::min_element(map, {}, [](const auto& of) { return latest_of(of.second); }));
}

}  // namespace

PastRuns::PastRuns(Users users) : users_(std::move(users)) {
  for (const auto& [user, programs] : users_) count_ = std::max(count_, latest_of(programs));
}

bool PastRuns::is_sane(const Users& users) {
  const auto is_sane_program = [](const auto& of) {
    const std::vector<PastRun>& runs = of.second.runs;
    const bool sane = std::ranges::all_of(runs, [](const PastRun& run) {
      return run.gpus >= GpuCount(0) && run.ran >= Duration::zero();
    });
    const bool tells = !runs.empty() || of.second.is_hurt_by_suspension;
    return sane && tells && runs.size() <= kMostRuns && of.first != Fingerprint(0);
  };
  const auto is_sane_user = [&](const auto& of) {
    return !of.second.empty() && of.second.size() <= kMostPrograms &&
           std::ranges::all_of(of.second, is_sane_program);
  };
  return users.size() <= kMostUsers && std::ranges::all_of(users, is_sane_user);
}

PastProgram& PastRuns::program(UserId user, Fingerprint what) {
  if (!users_.contains(user)) make_room(users_, kMostUsers);
  Programs& programs = users_[user];
  if (!programs.contains(what)) make_room(programs, kMostPrograms);
  PastProgram& program = programs[what];
  program.latest = ++count_;
  return program;
}

void PastRuns::add(UserId user, Fingerprint what, const PastRun& run) {
  std::vector<PastRun>& runs = program(user, what).runs;
  if (runs.size() == kMostRuns) runs.erase(runs.begin());
  runs.push_back(run);
}

void PastRuns::note_hurt_by_suspension(UserId user, Fingerprint what) {
  program(user, what).is_hurt_by_suspension = true;
}

const PastProgram* PastRuns::find(UserId user, Fingerprint what) const {
  const auto programs = users_.find(user);
  if (programs == users_.end()) return nullptr;
  const auto program = programs->second.find(what);
  return program == programs->second.end() ? nullptr : &program->second;
}

bool PastRuns::is_hurt_by_suspension(UserId user, Fingerprint what) const {
  const PastProgram* const program = find(user, what);
  return program != nullptr && program->is_hurt_by_suspension;
}

std::span<const PastRun> PastRuns::of(UserId user, Fingerprint what) const {
  const PastProgram* const program = find(user, what);
  return program == nullptr ? std::span<const PastRun>() : program->runs;
}

}  // namespace berth
