#include "policy/whole/level_queues.hpp"

#include <string>
#include <tuple>

#include "policy/kit/memory.hpp"

namespace berth {

namespace {

constexpr std::int64_t kMostArrivals = std::int64_t{1} << 60;

/// True for a time that a job may have run or waited.
bool is_age(Duration time) { return time >= Duration::zero() && time <= hours(24) * 365 * 150; }

struct QueuedJob {
  JobId job;
  std::int64_t arrival = 0;
  Duration ran_before{0};
  Duration waited_before{0};
};
inline auto members(QueuedJob& v) {
  return std::tie(v.job, v.arrival, v.ran_before, v.waited_before);
}

struct QueuesMemory {
  Snapshot jobs;
  Instant updated = Instant::min();
  std::int64_t arrivals = 0;
  std::vector<std::vector<QueuedJob>> queues;
};
inline auto members(QueuesMemory& v) { return std::tie(v.jobs, v.updated, v.arrivals, v.queues); }

/// As the bytes say; that the jobs are those of the list is seen later.
bool is_sane(const QueuesMemory& memory) {
  const auto is_queue = [](const std::vector<QueuedJob>& queue) {
    return std::ranges::all_of(queue, [](const QueuedJob& queued) {
      return is_age(queued.ran_before) && is_age(queued.waited_before);
    });
  };
  return memory.arrivals >= 0 && memory.arrivals <= kMostArrivals &&
         std::ranges::all_of(memory.queues, is_queue);
}

}  // namespace

bool LevelQueues::update(const ClusterView& view, std::span<const Event> events,
                         const Placer& placer) {
  const std::size_t before = jobs_.ids().size();
  jobs_.update(view, events, placer);
  const auto arrived = jobs_.arrived();
  const bool ended = jobs_.ids().size() - arrived.size() != before;
  for (auto& queue : queues_) {
    if (!ended) break;
    std::erase_if(queue, [&](JobId id) {
      const bool gone = std::ranges::binary_search(jobs_.gone(), id);
      if (gone) standings_.erase(id);
      return gone;
    });
  }
  for (const JobId id : arrived) {
    standings_.insert(id, {.arrival = ++arrivals_});
    queues_.front().push_back(id);
  }
  const Instant last = std::exchange(updated_, view.now());
  return !arrived.empty() || ended || last < view.now();
}

void LevelQueues::move(JobId job, std::size_t to) {
  Standing& standing = standings_.at(job);
  std::erase(queues_[standing.level], job);
  queues_[to].push_back(job);
  standing.level = to;
}

void LevelQueues::restart(const JobView& job) {
  Standing& standing = standings_.at(job.id());
  standing.ran_before = job.ran();
  standing.waited_before = job.waited();
  move(job.id(), 0);
}

std::span<const JobId> LevelQueues::in_order() {
  order_.clear();
  for (const auto& queue : queues_) order_.insert(order_.end(), queue.begin(), queue.end());
  return order_;
}

Snapshot LevelQueues::save() const {
  QueuesMemory memory{
      .jobs = jobs_.save(), .updated = updated_, .arrivals = arrivals_, .queues = {}};
  for (const auto& queue : queues_) {
    std::vector<QueuedJob>& queued = memory.queues.emplace_back();
    for (const JobId id : queue) {
      const Standing& standing = standings_.at(id);
      queued.push_back({.job = id,
                        .arrival = standing.arrival,
                        .ran_before = standing.ran_before,
                        .waited_before = standing.waited_before});
    }
  }
  return saved(memory);
}

/// Every listed job must stand in one queue.
Expected<void> LevelQueues::restore(const Snapshot& bytes, std::string_view whose) {
  QueuesMemory memory;
  const auto sane = [&](const QueuesMemory& read) {
    return is_sane(read) && read.queues.size() == queues_.size();
  };
  if (auto done = restore_into(memory, bytes, whose, sane); !done) return done;
  if (auto done = jobs_.restore(memory.jobs); !done) return done;
  updated_ = memory.updated;
  arrivals_ = memory.arrivals;
  standings_ = {};
  for (auto& queue : queues_) queue.clear();
  std::vector<JobId> listed = jobs_.ids();
  std::ranges::sort(listed);
  for (std::size_t level = 0; level < memory.queues.size(); ++level) {
    for (const QueuedJob& queued : memory.queues[level]) {
      const bool known = std::ranges::binary_search(listed, queued.job);
      if (!known || standings_.find(queued.job) != nullptr) {
        return fail(ErrorCode::BadData, "policy memory: a queue of " + std::string(whose));
      }
      queues_[level].push_back(queued.job);
      standings_.insert(queued.job, {.level = level,
                                     .arrival = queued.arrival,
                                     .ran_before = queued.ran_before,
                                     .waited_before = queued.waited_before});
    }
  }
  if (standings_.size() == listed.size()) return {};
  return fail(ErrorCode::BadData, "policy memory: a job in no queue of " + std::string(whose));
}

}  // namespace berth
