#include "daemon/requests/after_search.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/limits.hpp"
#include "core/text/handle.hpp"
#include "core/text/words.hpp"
#include "engine/awaited.hpp"

namespace berth::daemon {

namespace {

constexpr std::int64_t kTasksAtOnce = 64;  ///< Jobs of an array: a fraction of a millisecond.

std::unexpected<Error> refuse_after(const std::string& what) {
  return fail(ErrorCode::InvalidArgument, "after: " + what);
}

std::string words_for(JobId job) { return "job " + std::to_string(job.value()); }

}  // namespace

FindJobs find_jobs_of(const live::Keeper& keeper) {
  return [&keeper](JobId first, JobId last) -> Expected<std::vector<JobFound>> {
    const ClusterView view = keeper.engine().view();
    std::vector<JobFound> found;
    bool are_all_there = true;
    for (JobId id = first; id <= last; id = JobId(id.value() + 1)) {
      const Job* const job = view.find(id);
      are_all_there = are_all_there && job != nullptr;
      if (job != nullptr) found.push_back({id, job->spec.conditions->array, std::nullopt});
    }
    if (are_all_there) return found;
    const auto rows = keeper.store().jobs_between(first, last);
    if (!rows) return std::unexpected(rows.error());
    for (const journal::WaitedRow& row : *rows) {
      if (!view.knows(row.job)) found.push_back({row.job, row.array, row.ended});
    }
    std::ranges::sort(found, {}, &JobFound::job);
    return found;
  };
}

Expected<void> add_counterparts(live::Submission& job, const std::vector<Counterpart>& found) {
  if (found.empty()) return {};
  const std::string first = "array " + std::to_string(found.front().array.value());
  if (job.tasks.empty()) return refuse_after(first + ": same_task, and this job is of no array");
  std::map<JobId, std::set<std::int64_t>> alone;  // by array, tasks that have none in it
  std::vector<Dependency>& after = job.spec.conditions.edit().after;
  for (const Counterpart& one : found) {
    auto& rest = alone.try_emplace(one.array, job.tasks.begin(), job.tasks.end()).first->second;
    if (rest.erase(one.task) == 0) continue;
    after.push_back(one.on);
    job.only_for.emplace(one.on.job, one.task);
  }
  for (const auto& [array, tasks] : alone) {
    if (tasks.empty()) continue;
    const std::string task = std::to_string(*tasks.begin());
    return refuse_after("array " + std::to_string(array.value()) + ": has no task " + task +
                        " for task " + task + " of this one");
  }
  std::ranges::sort(after, {}, [](const Dependency& on) { return std::pair(on.job, on.when); });
  return {};
}

AfterSearch::AfterSearch(const std::vector<live::AfterTask>& asked, FindJobs find)
    : find_(std::move(find)) {
  std::map<JobId, Group> groups;
  std::set<std::tuple<JobId, std::optional<std::int64_t>, After, bool>> seen;
  for (const live::AfterTask& one : asked) {
    if (!seen.emplace(one.on.job, one.task, one.on.when, one.same_task).second) continue;
    Group& group = groups[one.on.job];
    group.first = one.on.job;
    if (one.task) group.tasks.emplace(*one.task, one.on.when);
    if (!one.task) (one.same_task ? group.by_number : group.whole).push_back(one.on.when);
  }
  for (auto& [job, group] : groups) groups_.push_back(std::move(group));
}

Expected<bool> AfterSearch::advance(const std::function<bool()>& has_time) {
  do {
    if (counted_ < groups_.size()) {
      if (auto done = count(groups_[counted_++]); !done) return std::unexpected(done.error());
      continue;
    }
    if (at_ == groups_.size()) break;
    const auto more = go_on(groups_[at_]);
    if (!more) return std::unexpected(more.error());
    if (!*more) ++at_;
  } while (has_time());
  if (counted_ < groups_.size() || at_ < groups_.size()) return true;
  if (auto possible = check_possible(); !possible) return std::unexpected(possible.error());
  return false;
}

/// The engine would end the job as soon as it has it. Of a job that is nowhere to be found, or that
/// ends only now, the engine knows best.
Expected<void> AfterSearch::check_possible() const {
  if (ended_.empty()) return {};
  std::vector<Dependency> after = found_;
  std::vector<JobId> met;
  const auto never = settle_ends(
      after, [](const Dependency& on) { return Fate{!on.ended.has_value(), on.ended}; }, met);
  if (!never) return {};
  const std::string handle = handle_of(never->on.job, ended_.at(never->on.job));
  const bool is_whole = never->on.array != JobId(0);
  return refuse_after(never->past(handle) + ": " + std::string(word_for(never->on.when)) + " " +
                      (is_whole ? std::to_string(never->on.array.value()) : handle) +
                      " can never be satisfied");
}

/// One look, however large the array is.
Expected<void> AfterSearch::count(Group& group) {
  auto found = find_(group.first, group.first);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return refuse_after(words_for(group.first) + ": no such job");
  group.known = found->front();
  const ArrayPlace& array = group.known.array;
  const bool is_array = array.tasks > 0 && array.first == group.first;
  if ((!group.tasks.empty() || !group.by_number.empty()) && !is_array) {
    return refuse_after(words_for(group.first) + ": is no array");
  }
  if (is_array) group.jobs = array.tasks;
  if (is_array) group.array = group.first;
  all_ += (group.whole.size() + group.by_number.size()) * static_cast<std::size_t>(group.jobs) +
          group.tasks.size();
  if (all_ <= limits::kMostDependencies) return {};
  return refuse_after(std::to_string(all_) +
                      (counted_ < groups_.size() ? " jobs or more" : " jobs") + ", the most is " +
                      std::to_string(limits::kMostDependencies));
}

void AfterSearch::add(Group& group, const JobFound& job) {
  if (job.ended) ended_.emplace(job.job, job.array);
  for (const After when : group.whole) {
    found_.push_back({.job = job.job, .when = when, .ended = job.ended, .array = group.array});
  }
  if (job.array.tasks == 0 || job.array.first != group.first) return;
  for (const After when : group.by_number) {
    counterparts_.push_back({.array = group.first,
                             .task = job.array.task,
                             .on = {.job = job.job, .when = when, .ended = job.ended}});
  }
  const auto [from, to] = group.tasks.equal_range(job.array.task);
  for (auto task = from; task != to; ++task) {
    found_.push_back({.job = job.job, .when = task->second, .ended = job.ended});
  }
  group.tasks.erase(from, to);
}

/// Those at these places of the array, whether they are there or not.
Expected<void> AfterSearch::look(Group& group, std::int64_t from, std::int64_t to) {
  const auto at = [&](std::int64_t place) {
    return JobId(group.first.value() + static_cast<std::uint64_t>(place));
  };
  const auto found = find_(at(from), at(to));
  if (!found) return std::unexpected(found.error());
  auto next = found->begin();
  for (std::int64_t place = from; place <= to; ++place) {
    const bool is_there = next != found->end() && next->job == at(place);
    add(group, is_there ? *next++ : JobFound{.job = at(place), .array = {}, .ended = {}});
  }
  return {};
}

/// Most arrays are numbered without gaps: where a task is then, it is looked for first.
std::set<std::int64_t> AfterSearch::guesses(const Group& group) {
  const std::int64_t begin = group.known.array.task;
  std::set<std::int64_t> places;
  for (const auto& [task, when] : group.tasks) {
    if (task >= begin && task - begin < group.jobs) places.insert(task - begin);
  }
  return places;
}

/// A few of the places that are guessed.
Expected<bool> AfterSearch::look_where_guessed(Group& group) {
  const auto first = group.guesses->begin();
  auto last = first;
  for (auto next = std::next(last); next != group.guesses->end(); last = next++) {
    if (*next != *last + 1 || *next - *first >= kTasksAtOnce) break;
  }
  if (auto done = look(group, *first, *last); !done) return std::unexpected(done.error());
  group.guesses->erase(first, std::next(last));
  return !group.tasks.empty();
}

/// Returns: whether there is more to be found of this group.
Expected<bool> AfterSearch::go_on(Group& group) {
  if (group.jobs == 1 && group.tasks.empty()) {
    add(group, group.known);
    return false;
  }
  if (!is_of_all(group) && !group.guesses) group.guesses = guesses(group);
  if (group.guesses && !group.guesses->empty()) return look_where_guessed(group);
  if (!is_of_all(group) && group.next == 0) looked_ += static_cast<std::size_t>(group.jobs);
  if (looked_ > limits::kMostDependenciesOfArray) {
    return refuse_after("tasks of arrays of " + std::to_string(looked_) +
                        " jobs that are not numbered one by one, the most is " +
                        std::to_string(limits::kMostDependenciesOfArray));
  }
  const std::int64_t last = std::min<std::int64_t>(group.next + kTasksAtOnce, group.jobs) - 1;
  if (auto done = look(group, group.next, last); !done) return std::unexpected(done.error());
  group.next = last + 1;
  const bool is_done = !is_of_all(group) && group.tasks.empty();
  if (group.next < group.jobs && !is_done) return true;
  if (group.tasks.empty()) return false;
  return refuse_after("array " + std::to_string(group.first.value()) + ": has no task " +
                      std::to_string(group.tasks.begin()->first));
}

}  // namespace berth::daemon
