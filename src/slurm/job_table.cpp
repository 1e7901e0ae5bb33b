#include "slurm/job_table.hpp"

#include <algorithm>

namespace berth::slurm {

namespace {

Tally tally_of(const JobRecord& job) {
  const bool is_over = job.phase == Phase::Over;
  return {.jobs = 1,
          .pending = job.phase == Phase::Pending ? 1U : 0U,
          .unfinished = is_over && !job.is_completing ? 0U : 1U,
          .done = is_over && job.outcome == Outcome::Done ? 1U : 0U};
}

std::optional<std::uint32_t> task_of(const JobRecord& job) {
  return job.tasks.empty() ? std::optional(job.task) : std::nullopt;
}

}  // namespace

void JobTable::put(const JobRecord& job) {
  const auto [known, is_new] = jobs_.try_emplace(job.id);
  if (!is_new) leave(known->second);
  known->second = job;
  enter(job);
}

void JobTable::remove(SlurmId id) {
  const auto known = jobs_.find(id);
  if (known == jobs_.end()) return;
  leave(known->second);
  jobs_.erase(known);
}

const JobRecord* JobTable::find(SlurmId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

Tally JobTable::tally(SlurmId id) const {
  if (const auto array = arrays_.find(id); array != arrays_.end()) return array->second;
  const JobRecord* const job = find(id);
  return job == nullptr ? Tally() : tally_of(*job);
}

Tally JobTable::tally(SlurmId array, std::uint32_t task) const {
  const JobRecord* const job = find(array, task);
  return job == nullptr ? Tally() : tally_of(*job);
}

/// Null for an unknown one.
const JobRecord* JobTable::find(SlurmId array, std::uint32_t task) const {
  auto found = tasks_.find({array, task});
  if (found == tasks_.end()) found = tasks_.find({array, std::nullopt});
  return found == tasks_.end() ? nullptr : find(found->second);
}

std::int64_t JobTable::last_start(SlurmId id) const {
  if (!arrays_.contains(id)) {
    const JobRecord* const job = find(id);
    return job == nullptr ? 0 : job->started;
  }
  std::int64_t last = 0;
  for (auto at = tasks_.lower_bound({id, std::nullopt});
       at != tasks_.end() && at->first.first == id; ++at) {
    last = std::max(last, find(at->second)->started);
  }
  return last;
}

std::int64_t JobTable::last_start(SlurmId array, std::uint32_t task) const {
  const JobRecord* const job = find(array, task);
  return job == nullptr ? 0 : job->started;
}

bool JobTable::is_next_of_its_name(const JobRecord& job) const {
  const auto found = names_.find({job.user, job.name});
  if (found == names_.end()) return true;
  const auto& [is_pending, id] = *found->second.begin();
  return is_pending && id >= job.id;
}

void JobTable::enter(const JobRecord& job) {
  if (job.phase != Phase::Over) {
    names_[{job.user, job.name}].emplace(job.phase == Phase::Pending, job.id);
  }
  if (job.array == 0) return;
  const Tally own = tally_of(job);
  Tally& all = arrays_[job.array];
  all.jobs += own.jobs;
  all.pending += own.pending;
  all.unfinished += own.unfinished;
  all.done += own.done;
  tasks_[{job.array, task_of(job)}] = job.id;
}

void JobTable::leave(const JobRecord& job) {
  if (const auto name = names_.find({job.user, job.name}); name != names_.end()) {
    name->second.erase({job.phase == Phase::Pending, job.id});
    if (name->second.empty()) names_.erase(name);
  }
  if (job.array == 0) return;
  const Tally own = tally_of(job);
  Tally& all = arrays_.at(job.array);
  all.jobs -= own.jobs;
  all.pending -= own.pending;
  all.unfinished -= own.unfinished;
  all.done -= own.done;
  if (all.jobs == 0) arrays_.erase(job.array);
  const auto task = tasks_.find({job.array, task_of(job)});
  if (task != tasks_.end() && task->second == job.id) tasks_.erase(task);
}

}  // namespace berth::slurm
