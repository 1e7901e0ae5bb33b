#include "policy/whole/deadline_plan.hpp"

#include <algorithm>
#include <iterator>

namespace berth {

std::int64_t level_within(const SizedJob& job, std::int64_t gpus) {
  if (gpus >= job.most) return job.most;
  if (gpus < job.least) return 0;
  std::int64_t level = job.least;
  while (level <= gpus / 2) level *= 2;
  return level;
}

std::int64_t level_above(const SizedJob& job, std::int64_t gpus) {
  std::int64_t level = job.least;
  while (level <= gpus && level < job.most) level = level > job.most / 2 ? job.most : level * 2;
  return level;
}

namespace {

/// No plan goes further.
constexpr Duration kLongestWork = hours(24) * 365 * 100;

/// Microseconds of work at full speed, times the parts of a Rate.
Wide work_of(const SizedJob& job) { return Wide{micros(job.left)} * Rate::kWhole; }

/// In whole seconds.
Duration time_for(Wide work, std::int64_t speed) {
  const Wide second = Wide{micros(seconds(1))} * speed;
  const Wide most = micros(kLongestWork) / micros(seconds(1));
  return seconds(static_cast<std::int64_t>(std::min(most, (work + second - 1) / second)));
}

/// Leaves out each that is as the one before.
void merge(GpusFrom& gpus) {
  for (auto next = gpus.begin(); next != gpus.end();) {
    const auto one = next++;
    while (next != gpus.end() && next->second == one->second) next = gpus.erase(next);
  }
}

}  // namespace

Wide DeadlinePlan::gpu_time() const {
  Wide sum = 0;
  for (auto at = gpus.begin(); at != gpus.end(); ++at) {
    const auto next = std::next(at);
    sum += Wide{at->second} * micros((next == gpus.end() ? until : next->first) - at->first);
  }
  return sum;
}

/// What is left to plan of a job, and its plan so far.
struct FreeGpus::Work {
  const SizedJob& job;
  Wide left = work_of(job);
  DeadlinePlan plan = {};
};

/// The job has up to `level`, and up to `below` before `from`.
struct FreeGpus::Search {
  std::int64_t level = 0;
  std::int64_t below = 0;
  Instant from;
};

Instant FreeGpus::slot_end(Instant time) const {
  const Duration past = time - now_;
  const std::int64_t slots = past / slot_;
  return now_ + slot_ * (past > slots * slot_ ? slots + 1 : slots);
}

void FreeGpus::split_at(Instant time) {
  free_.try_emplace(time, std::prev(free_.upper_bound(time))->second);
}

DeadlinePlan FreeGpus::taken(Work& work) {
  merge(free_);
  merge(work.plan.gpus);
  return std::move(work.plan);
}

/// Gives it so many GPUs in a segment, in which it works up to `until`. Returns: whether it ends.
bool FreeGpus::work_on(Work& work, GpusFrom::iterator segment, std::int64_t gpus, Instant until) {
  auto& [begin, free] = *segment;
  const std::int64_t free_before = free;
  work.plan.gpus[begin] = gpus;
  free -= gpus;
  if (gpus == 0) return false;
  const std::int64_t speed = work.job.speed(gpus);
  const Wide done = (Wide{micros(until)} - micros(begin)) * speed;
  if (done < work.left && until != kNever) {
    work.left -= done;
    return false;
  }
  work.plan.end = std::min(begin + time_for(work.left, speed), until);
  work.plan.until = slot_end(work.plan.end);
  free_.try_emplace(work.plan.until, free_before);
  return true;
}

/// From this segment on, with as many GPUs as are free; behind all plans with `first`, if given.
void FreeGpus::walk(Work& work, Instant from, std::optional<std::int64_t> first) {
  for (auto at = free_.lower_bound(from); at != free_.end(); ++at) {
    const auto next = std::next(at);
    const bool is_last = next == free_.end();
    const std::int64_t gpus = is_last && first ? *first : level_within(work.job, at->second);
    if (work_on(work, at, gpus, is_last ? kNever : next->first)) return;
  }
}

DeadlinePlan FreeGpus::take_soonest(const SizedJob& job) {
  Work work{.job = job};
  walk(work, now_, std::nullopt);
  return taken(work);
}

/// Looks back from the deadline: how late it can begin to have a level.
std::optional<FreeGpus::Search> FreeGpus::search(const SizedJob& job, Instant from,
                                                 Wide work) const {
  const auto due = free_.lower_bound(slot_end(job.deadline));
  for (std::int64_t level = job.least, below = 0;; below = level, level = level_above(job, level)) {
    Wide done = 0;
    Instant until = job.deadline;
    for (auto at = due; at != free_.begin() && std::prev(at)->first >= from; --at) {
      const auto& [begin, free] = *std::prev(at);
      const std::int64_t gpus = level_within(job, std::min(level, free));
      if (gpus > 0) done += Wide{micros(until - begin)} * job.speed(gpus);
      if (done >= work) return Search{.level = level, .below = below, .from = begin};
      until = begin;
    }
    if (level == job.most) return std::nullopt;
  }
}

DeadlinePlan FreeGpus::take_fewest(const SizedJob& job, std::optional<std::int64_t> first) {
  Work work{.job = job};
  const Instant due = slot_end(job.deadline);
  if (due > now_) split_at(due);
  const auto works_until = [&](GpusFrom::iterator at) {
    const auto next = std::next(at);
    if (next == free_.end()) return kNever;
    return next->first == due ? job.deadline : next->first;
  };
  auto at = free_.begin();
  if (first) {
    if (work_on(work, at, *first, works_until(at))) return taken(work);
    ++at;
  }
  const Instant from = at == free_.end() ? due : at->first;
  const Search found = search(job, from, work.left)
                           .value_or(Search{.level = job.most, .below = job.most, .from = from});
  for (; at != free_.end() && at->first < due; ++at) {
    const std::int64_t level = at->first < found.from ? found.below : found.level;
    const std::int64_t gpus = level_within(job, std::min(level, at->second));
    const auto next = std::next(at);
    if (!work_on(work, at, gpus, works_until(at))) continue;
    if (next != free_.end() && next->first < due) work.plan.gpus.try_emplace(next->first, 0);
    return taken(work);
  }
  walk(work, due, first);
  return taken(work);
}

void FreeGpus::put_back(const DeadlinePlan& plan) {
  for (auto at = plan.gpus.begin(); at != plan.gpus.end() && at->first < plan.until; ++at) {
    const auto next = std::next(at);
    const Instant until = next == plan.gpus.end() ? plan.until : std::min(next->first, plan.until);
    if (until != kNever) split_at(until);
    split_at(at->first);
    for (auto free = free_.find(at->first); free != free_.end() && free->first < until; ++free) {
      free->second += at->second;
    }
  }
  merge(free_);
}

}  // namespace berth
