// The rule of Muri (Zhao et al., SIGCOMM 2022): which jobs share GPUs so that their stages, which
// use different resources, are at work at once. It knows neither places nor the engine.
//
// As its simulator has it (Rivendile/Muri, commit 4e69a78ce7): groups by matchings of maximum
// weight, which are asked for, and those of multi-resource-gpu-unaware, without.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/question.hpp"
#include "core/knowledge/stages.hpp"

namespace berth {

/// Jobs of one group at most, and matchings of one pass.
inline constexpr std::size_t kMuriMost = 4;
/// Groups that are looked at in pairs, all on 64 GPUs: on more, those next to each other in order.
inline constexpr std::size_t kMuriBucket = 256;

struct MuriJob {
  std::int64_t gpus = 1;
  std::int64_t key = 0;  ///< Small goes first.
};
inline auto members(MuriJob& v) { return std::tie(v.gpus, v.key); }

/// Positions of jobs that share their GPUs, all with as many.
using MuriGroup = std::vector<std::size_t>;

/// The groups of a pass as they are made.
struct MuriGroups {
  std::vector<MuriGroup> list;  ///< Those with as many GPUs lie together.
  std::int64_t need = 0;        ///< GPUs for all of them.
  std::int64_t capacity = 0;    ///< GPUs that there are.
  std::size_t rounds = 0;       ///< Matchings that were made.

  bool operator==(const MuriGroups&) const = default;
};
inline auto members(MuriGroups& v) { return std::tie(v.list, v.need, v.capacity, v.rounds); }

/// On an empty cluster, takes the GPUs of the job at this position. Returns: whether it has a
/// place.
using MuriPlace = std::function<bool(std::size_t)>;

/// The jobs that are to be grouped, each by itself. By key, the first to come among equals, each
/// that has a place makes room for the kMuriMost jobs that are next with as many GPUs. O(jobs log
/// jobs), and the places.
MuriGroups muri_candidates(std::span<const MuriJob> jobs, std::int64_t capacity,
                           const MuriPlace& place);

/// In the order of the list, kMuriMost after kMuriMost, jobs join their group as long as all groups
/// need more GPUs than there are. Requires: muri_candidates() made them.
void muri_fill(std::span<const MuriJob> jobs, MuriGroups& groups);

/// The part of an iteration of this group in which a resource is at work, in the mean over
/// kMuriMost of them, in millionths. `times`: of all jobs, all known.
std::int64_t muri_gain(std::span<const Iteration> times, const MuriGroup& group,
                       const StageFactors& factors);
/// Whether an iteration of these jobs together takes no longer than one after the other.
bool muri_pays(std::span<const Iteration> times, const MuriGroup& group,
               const StageFactors& factors);

/// muri_gain(), or 0 if these jobs cannot share GPUs.
using MuriGain = std::function<std::int64_t(const MuriGroup&)>;

/// Which two groups with as many GPUs, and of kMuriMost jobs together at most, should become one;
/// nothing if there are GPUs for all groups, or no two can. Of matchings as good, jobs of the same
/// models make many, none is preferred: it is the one with which the solver's search ends.
/// O(groups x kMuriBucket).
std::optional<Matching> muri_question(std::span<const MuriJob> jobs, const MuriGroups& groups,
                                      const MuriGain& gain);
/// Joins those two, as long as all groups need more GPUs than there are. `values`: one for each
/// edge, above zero for a pair. Requires: the question is of these groups, and has as many edges.
void muri_join(std::span<const MuriJob> jobs, MuriGroups& groups, const Matching& asked,
               std::span<const std::int64_t> values);

/// muri_pays().
using MuriPays = std::function<bool(const MuriGroup&)>;

/// Those groups that run, in the order in which they go to GPUs. A group that does not pay is taken
/// apart; by the least key of their jobs, those that have a place on an empty cluster.
std::vector<MuriGroup> muri_chosen(std::span<const MuriJob> jobs, std::vector<MuriGroup> groups,
                                   const MuriPays& pays, const MuriPlace& place);

/// The order of the list after a pass: most GPUs first, then by key, then as it was.
std::vector<std::size_t> muri_order(std::span<const MuriJob> jobs);

}  // namespace berth
