// The rule of Muri (Zhao et al., SIGCOMM 2022) without its matching: which jobs share GPUs so that
// their stages, which use different resources, are at work at once. It knows neither places nor
// the engine.
//
// As its simulator has it (Rivendile/Muri, commit 4e69a78ce7, multi-resource-gpu-unaware).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace berth {

/// Jobs of one group at most.
inline constexpr std::size_t kMuriMost = 4;

struct MuriJob {
  std::int64_t gpus = 1;
  std::int64_t key = 0;  ///< Small goes first: GPUs x time that it ran, in microseconds.
};

/// Positions of jobs that share their GPUs, all with as many.
using MuriGroup = std::vector<std::size_t>;

struct MuriRules {
  std::int64_t capacity = 0;  ///< GPUs.
  /// Begins an empty cluster, on which each call takes the GPUs of the job at this position. That
  /// returns false if there is no place for it.
  std::function<std::function<bool(std::size_t)>()> empty;
  /// Whether the jobs of this group are faster together than one after the other.
  std::function<bool(const MuriGroup&)> pays;
};

/// The order of the list after a pass: most GPUs first, then by key, then as it was.
std::vector<std::size_t> muri_order(std::span<const MuriJob> jobs);

/// One pass over all jobs, in the order of the list that the last pass left: the groups, in the
/// order in which they go to GPUs. By key, each job that has a place on an empty cluster makes room
/// for a group of the kMuriMost jobs that are next with as many GPUs; they share GPUs only as long
/// as all together need more than there are, and only if that pays. O(jobs log jobs), and the
/// places.
std::vector<MuriGroup> muri_groups(std::span<const MuriJob> jobs, const MuriRules& rules);

}  // namespace berth
