// Policies that say how many GPUs each job has, at every arrival and every end, as AFS (Hwang et
// al., NSDI 2021) and Optimus (Peng et al., EuroSys 2018) do.
//
// A policy of this kind is one rule, which sets the numbers. The rest is here: a job whose number
// did not change stays where it is; others are placed, largest first, with all of their GPUs at
// once. A job that runs saves itself and starts again to change its number; one that cannot keeps
// the number that it runs with, and has it or none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/rate.hpp"
#include "core/base/rng.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "policy/keys.hpp"
#include "policy/policy.hpp"

namespace berth {

/// Whether a job's deadline is kept, for rules that promise it.
enum class Promise : std::uint8_t {
  Open,    ///< It is for the rule to say.
  Given,   ///< Its deadline is kept if jobs run as estimated.
  Refused  ///< It is served behind those.
};
constexpr Promise last_of(Promise) { return Promise::Refused; }

/// The times that a job had GPUs, for rules by which jobs take turns.
struct JobTurns {
  std::int64_t over = 0;   ///< How many it has had.
  Instant first = kNever;  ///< When it first had GPUs.
  Instant until = kNever;  ///< The end of the one that it has.
  bool operator==(const JobTurns&) const = default;
};
inline auto members(JobTurns& v) { return std::tie(v.over, v.first, v.until); }

/// A job with GPUs, as a rule sees it.
struct SizedJob {
  std::int64_t least = 1;  ///< GPUs; it has none, or from `least` to `most` of them.
  std::int64_t most = 1;   ///< No more than make it faster.
  Duration left{0};        ///< Of its work, at full speed; above zero.
  Instant since = kNever;  ///< When it last got GPUs after it had none; kNever: it has none.
  std::span<const Rate> speeds = {};  ///< On one GPU, two and so on; on more it is the last.
  Instant deadline = kNever;
  std::int64_t held = 0;            ///< GPUs that it has.
  Promise promise = Promise::Open;  ///< As the rule set it before.
  JobTurns turns = {};              ///< As the rule set it before.
  std::int64_t gpus = 0;            ///< What the rule gives it; 0 before.

  std::int64_t speed(std::int64_t on) const {
    return speeds[std::min(static_cast<std::size_t>(on), speeds.size()) - 1].ppm();
  }
  /// Until it ends, on so many GPUs; kForever on none.
  Duration time(std::int64_t on) const;
  /// What it must be given to have more.
  std::int64_t next_part() const { return gpus == 0 ? least : 1; }
  bool can_grow() const { return gpus >= least && gpus < most; }
};

/// Sets `gpus` of each, of so many in all. Jobs are in order of arrival.
using SizeRule = void(std::span<SizedJob> jobs, std::int64_t gpus);
/// The same by a plan, with draws for this run and instant; it may set `promise` and `turns` too.
/// Returns: when the plan has other numbers; kNever: not as long as no job comes or ends.
using SizePlan =
    std::function<Instant(std::span<SizedJob> jobs, std::int64_t gpus, Instant now, Rng draws)>;

/// Gives a job its next part, if there is so much and it may have that. Returns: whether it did.
inline bool give(SizedJob& job, std::int64_t& gpus) {
  const std::int64_t part = job.next_part();
  if (part > gpus || job.gpus + part > job.most) return false;
  job.gpus += part;
  gpus -= part;
  return true;
}

/// Gives each its next part in turn, until none is left or no job can use more.
inline void give_in_turn(std::vector<SizedJob*> jobs, std::int64_t& gpus) {
  while (gpus > 0 && !jobs.empty()) {
    std::erase_if(jobs, [&](SizedJob* job) { return !give(*job, gpus); });
  }
}

/// The rules of the policies.
void afs_sizes(std::span<SizedJob> jobs, std::int64_t gpus);
void optimus_sizes(std::span<SizedJob> jobs, std::int64_t gpus);
void max_min_sizes(std::span<SizedJob> jobs, std::int64_t gpus);
void edf_sizes(std::span<SizedJob> jobs, std::int64_t gpus);
/// A plan: turns last so long; `later_wins` says which of two jobs gets a GPU that either may have.
Instant afs_p_sizes(std::span<SizedJob> jobs, std::int64_t gpus, Instant now, Duration turn,
                    const std::function<bool()>& later_wins);

/// A policy by such a rule. `name` is the name in errors. Cost: what the rule costs at each arrival
/// and end, and O(jobs (log jobs + a placement)) per event.
std::unique_ptr<Policy> sized(std::string_view name, SizeRule& rule,
                              std::unique_ptr<Placer> placer);
/// A policy by a plan, which is made `apart` after the last one at the earliest; jobs that come
/// before that wait.
std::unique_ptr<Policy> sized_by_plan(std::string_view name, SizePlan plan, Duration apart,
                                      std::unique_ptr<Placer> placer);
/// The key for it.
inline constexpr Key kApartKey{
    .name = "apart",
    .type = KeyType::Time,
    .usual = "0",
    .least = 0,
    .most = kYear,
    .what =
        "Numbers are set again so long after the last time at the earliest; jobs that come before "
        "wait until then."};

}  // namespace berth
