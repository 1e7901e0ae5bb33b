// Plans that say how many GPUs a job has from now to its end, beside the plans of other jobs, as
// ElasticFlow (Gu et al., ASPLOS 2023) and its EDF make them.
//
// Time is cut into slots, the first of which begins now: GPUs change hands at their ends. In a plan
// a job has one of its levels of GPUs, or none. Ends are rounded up to whole seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/time.hpp"
#include "core/base/wide.hpp"
#include "policy/whole/sized.hpp"

namespace berth {

// The levels of a job are its least number of GPUs, twice as many and so on, and its most.

/// The largest level of so many GPUs; 0 if there is none.
std::int64_t level_within(const SizedJob& job, std::int64_t gpus);
/// The smallest level above so many; the most if there is none.
std::int64_t level_above(const SizedJob& job, std::int64_t gpus);

/// GPUs from each of these instants on, up to the next.
using GpusFrom = std::map<Instant, std::int64_t>;

struct DeadlinePlan {
  GpusFrom gpus;           ///< Of the job. Neighbours differ.
  Instant end = kNever;    ///< Of its work; kNever: too few GPUs are there for it.
  Instant until = kNever;  ///< End of the slot of `end`: then its GPUs are free.

  /// Those that it begins with.
  std::int64_t now() const { return gpus.empty() ? 0 : gpus.begin()->second; }
  /// GPUs x microseconds; of the GPUs with which it ends, up to where what is free changes next if
  /// that is before its deadline. Requires: an end.
  Wide gpu_time() const;
};

/// The GPUs that plans so far leave free. A value type.
class FreeGpus {
 public:
  /// Requires: a slot above zero.
  FreeGpus(Instant now, Duration slot, std::int64_t gpus)
      : now_(now), slot_(slot), all_(gpus), free_{{now, gpus}} {}

  /// The largest level that is free, at any time, until the work is done. O(instants planned).
  DeadlinePlan take_soonest(const SizedJob& job);
  /// The smallest level that ends it by its deadline, or as much of it as is free, as late as that
  /// will do, and the level below before; if none does, the largest that is free. With `first` it
  /// has so many until what is free changes, whatever follows. Requires: a deadline; that `first`
  /// is free now. O(levels x instants planned).
  DeadlinePlan take_fewest(const SizedJob& job, std::optional<std::int64_t> first = std::nullopt);
  /// What was taken for this plan is free again.
  void put_back(const DeadlinePlan& plan);

  std::int64_t now() const { return free_.begin()->second; }

 private:
  struct Work;
  struct Search;
  Instant slot_end(Instant time) const;
  std::optional<Search> search(const SizedJob& job, Instant from, Wide work) const;
  void walk(Work& work, Instant from, std::optional<std::int64_t> first);
  bool work_on(Work& work, GpusFrom::iterator segment, std::int64_t gpus, Instant until);
  void split_at(Instant time);
  DeadlinePlan taken(Work& work);

  Instant now_;
  Duration slot_;
  std::int64_t all_;
  GpusFrom free_;
};

struct PlannedJob {
  SizedJob* job = nullptr;
  DeadlinePlan plan = {};
};

/// The fewest GPUs for each of these, in the order of their deadlines.
std::vector<PlannedJob> plan_fewest(std::span<SizedJob* const> jobs, FreeGpus& free);

/// The rule of `elasticflow`: sets `gpus` and `promise` of each, of jobs in order of arrival and
/// GPUs that are all free. Returns: the plans of those with a promise, in the order in which it
/// gave out the last GPU.
std::vector<PlannedJob> elasticflow_plans(std::span<SizedJob> jobs, FreeGpus free);

}  // namespace berth
