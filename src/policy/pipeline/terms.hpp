// When a place kept will be free, and for how long other jobs may borrow it until then.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/trial.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

/// What a place kept rests on, beside what users see of it (Hold).
struct Terms {
  /// The grants, by number, ascending, that must end before it can begin.
  std::vector<std::uint64_t> awaited;
  /// Above zero while one of them has no limit: others may borrow the place for this long.
  Duration lend{0};
};
inline auto members(Terms& v) { return std::tie(v.awaited, v.lend); }
using TermsByJob = std::map<JobId, Terms>;
/// False for what no policy could have saved.
bool are_sane(const TermsByJob& terms);

/// A room kept, and what it rests on.
struct RoomOnTerms {
  KeptRoom room;
  Terms terms;
};

/// Why there is no place to keep.
enum class NoPlace : std::uint8_t {
  Health,  ///< The job would not fit if every other job had left.
  Others,  ///< It would, were no places kept for other jobs.
};

/// The place that is free first, beside the places `kept`: by time limits, or, if they do not
/// suffice, by what is expected of jobs without one. Requires: the trial respects no place. Cost:
/// O(running log running) placements.
std::expected<RoomOnTerms, NoPlace> first_free(Walk& walk, JobId job, const Ask& ask,
                                               std::span<const KeptRoom> kept);

/// The places that the view shows as kept and that are still good, with their terms and times
/// brought up to date and what stays there counted. A place is lent on while a job without a limit
/// is awaited; once those have all left, every job there has a limit, and the time is promised. A
/// place without terms was kept by another policy, and is not taken over. O(nodes + running).
std::vector<KeptRoom> still_kept(Walk& walk, TermsByJob& terms);

}  // namespace berth
