#include "daemon/answers/selection.hpp"

#include <algorithm>
#include <utility>

#include "core/text/points.hpp"
#include "core/view.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kRowsAtOnce = 64;  ///< Of the history; few, as a slice may end.

std::string digits_of(JobId job) { return std::to_string(job.value()); }

JobId one_above(JobId job) { return JobId(job.value() + 1); }

KnownJob known_of(const Job& job) {
  return {.id = job.id,
          .place = job.spec.conditions->array,
          .user = job.spec.user,
          .lives = true,
          .submitted = job.submitted};
}

KnownJob known_of(const journal::JobRow& row) {
  if (row.is_damaged) return {.id = row.job};
  return {.id = row.job,
          .place = row.spec.conditions->array,
          .user = row.spec.user,
          .submitted = row.submitted,
          .ended = row.end ? row.end->at : kNever};
}

}  // namespace

// ---- The jobs that a daemon keeps ------------------------------------------------------------

Expected<std::optional<KnownJob>> KeptJobs::at_or_above(JobId id) {
  if (id > kLastJob) return std::nullopt;
  id = std::max(id, JobId(1));
  const ClusterView view = keeper_.engine().view();
  const auto numbers =
      view.knows(id) ? std::vector{id} : keeper_.store().jobs_after(JobId(id.value() - 1), 1);
  if (!numbers) return std::unexpected(numbers.error());
  if (numbers->empty()) return std::nullopt;
  const JobId found = numbers->front();
  if (const Job* const job = view.find(found)) return known_of(*job);
  const auto row = keeper_.store().job(found);
  if (!row) return std::unexpected(row.error());
  return *row ? std::optional(known_of(**row)) : std::nullopt;
}

std::optional<KnownJob> KeptJobs::live_at_or_above(JobId id) {
  const ClusterView view = keeper_.engine().view();
  const auto found = view.job_from(id);
  return found ? std::optional(known_of(*view.find(*found))) : std::nullopt;
}

Expected<std::optional<KnownJob>> KeptJobs::ended_below(JobId id, std::optional<UserId> user) {
  const auto follows = [&](const journal::JobRow& row) { return row.job < id; };
  auto found = std::ranges::find_if(page_, follows);
  if (found == page_.end() || page_of_ != user) {
    auto rows = keeper_.store().history(
        {.before = id, .after = std::nullopt, .user = user, .most = kRowsAtOnce});
    if (!rows) return std::unexpected(rows.error());
    page_ = std::move(*rows);
    page_of_ = user;
    found = page_.begin();
  }
  return found == page_.end() ? std::nullopt : std::optional(known_of(*found));
}

Expected<std::string> KeptJobs::name_of(JobId id) {
  const auto known = std::ranges::find(page_, id, &journal::JobRow::job);
  if (known != page_.end()) return known->name;
  const auto row = keeper_.store().job(id);
  if (!row) return std::unexpected(row.error());
  return *row ? (*row)->name : "";
}

Expected<std::string> KeptJobs::command_of(JobId id) {
  const auto known = std::ranges::find(page_, id, &journal::JobRow::job);
  if (known != page_.end()) return known->command;
  const auto row = keeper_.store().job(id);
  if (!row) return std::unexpected(row.error());
  return *row ? (*row)->command : "";
}

// ---- Selection -------------------------------------------------------------------------------

Expected<bool> Selection::advance(const std::function<bool()>& has_time) {
  const std::size_t handles = std::max<std::size_t>(1, wanted_.handles.size());
  do {
    if (at_ == handles) return false;
    if (auto done = look(); !done) return std::unexpected(done.error());
  } while (has_time());
  return at_ < handles;
}

/// One thing at a time: the beginning of a handle, one job, or its end.
Expected<void> Selection::look() {
  if (!std::exchange(has_begun_, true)) return begin();
  if (!walks_.empty()) return walk_on();
  if (before_ && (!has_found_ || wanted_.among == Among::Batch)) return look_for_ended();
  if (!has_found_ && !wanted_.handles.empty()) return stands_for_nothing(nothing());
  go_to_next();
  return {};
}

void Selection::go_to_next() {
  if (wanted_.among == Among::Batch && !names_of_batch_.empty()) {
    std::ranges::sort(chosen_.begin() + static_cast<std::ptrdiff_t>(chosen_before_), chosen_.end());
  }
  chosen_before_ = chosen_.size();
  ++at_;
  has_begun_ = has_found_ = false;
  before_.reset();
  batch_from_ = kNever;
  names_of_batch_.clear();
}

Expected<void> Selection::stands_for_nothing(const Error& why) {
  if (!wanted_.goes_on || wanted_.handles.size() == 1) return std::unexpected(why);
  missing_.push_back({.typed = wanted_.handles[at_].typed, .why = why.message});
  go_to_next();
  return {};
}

Expected<void> Selection::begin() {
  if (!wanted_.handles.empty()) {
    return std::visit([this](const auto& what) { return begin(what); }, wanted_.handles[at_].what);
  }
  walks_.push_back({.next = JobId(0), .last = kLastJob, .users = wanted_.users});
  return {};
}

/// The row of an array's first job may be gone while others are there: the next one says so.
Expected<void> Selection::begin(const NumberedJobs& numbers) {
  const auto known = world_.at_or_above(numbers.last);
  if (!known) return std::unexpected(known.error());
  const auto array = *known ? (*known)->array() : std::nullopt;
  const bool is_array = array && array->first >= numbers.first && array->first <= numbers.last;
  const Among among = wanted_.among;
  if (!numbers.is_one()) {
    walks_.push_back({.next = numbers.first,
                      .last = is_array ? std::max(numbers.last, array->last) : numbers.last,
                      .among = among,
                      .users = wanted_.users});
  } else if (is_array && array->first != array->last) {
    array_ = array;
    wholes_.insert(array->first);
    walk_array(*array, among);
  } else {
    is_one_ = true;
    take(numbers.first);  // one that is not there is told where it is acted upon
  }
  return {};
}

Expected<void> Selection::begin(const TasksOfArray& wanted) {
  const auto known = world_.at_or_above(wanted.array);
  if (!known) return std::unexpected(known.error());
  const auto array = *known ? (*known)->array() : std::nullopt;
  if (!array || array->first != wanted.array) {
    const bool is_job = *known && (*known)->id == wanted.array;
    return stands_for_nothing(
        {ErrorCode::NotFound, wanted_.handles[at_].typed + ": job " + digits_of(wanted.array) +
                                  (is_job ? " is no array" : ": no such job")});
  }
  is_one_ = wanted.is_one();
  if (wanted.tasks.empty()) {
    walk_array(*array, wanted_.among);
    return {};
  }
  for (std::size_t i = wanted.tasks.size(); i-- > 0;) {
    walks_.push_back({.next = array->first,
                      .last = array->last,
                      .among = wanted.is_one() ? Among::All : wanted_.among,
                      .tasks = wanted.tasks[i],
                      .has_first = false});
  }
  return {};
}

Expected<void> Selection::begin(const JobsNamed& name) {
  std::set<UserId> users = wanted_.users;
  if (users.empty()) users.insert(wanted_.own);
  walks_.push_back({.next = JobId(0), .last = kLastJob, .users = std::move(users), .name = &name});
  if (wanted_.among != Among::Live) before_ = one_above(kLastJob);
  return {};
}

/// Tasks ascend with the numbers, so that a few looks find one among thousands.
Expected<JobId> Selection::first_task_from(const ArraySpan& span, std::int64_t task) {
  std::uint64_t low = span.first.value();
  std::uint64_t high = span.last.value() + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto known = world_.at_or_above(JobId(middle));
    if (!known) return std::unexpected(known.error());
    const bool is_within = *known && span.has((*known)->id);
    if (is_within && (*known)->place.task < task) {
      low = (*known)->id.value() + 1;
    } else {
      high = middle;
    }
  }
  return JobId(low);
}

Expected<void> Selection::walk_on() {
  Walk& walk = walks_.back();
  if (!walk.has_first) {  // a look of its own: thousands may be asked for
    const auto first = first_task_from({walk.next, walk.last}, walk.tasks->first);
    if (!first) return std::unexpected(first.error());
    walk.next = *first;
    walk.has_first = true;
    return {};
  }
  std::optional<KnownJob> job;
  if (walk.among == Among::Live) {
    job = world_.live_at_or_above(walk.next);
  } else {
    auto known = world_.at_or_above(walk.next);
    if (!known) return std::unexpected(known.error());
    job = *known;
  }
  const bool is_over =
      !job || job->id > walk.last || (walk.tasks && job->place.task > walk.tasks->last);
  if (is_over) {
    walks_.pop_back();
    return {};
  }
  walk.next = one_above(job->id);
  return visit(*job, Walk(walk));
}

Expected<void> Selection::visit(const KnownJob& job, const Walk& walk) {
  if (!walk.users.empty() && (!job.user || !walk.users.contains(*job.user))) return {};
  if (walk.tasks && !walk.tasks->has(job.place.task)) return {};
  if (walk.name == nullptr) return take(job.id), Expected<void>();
  const auto name = shown_name_of(job);
  if (!name) return std::unexpected(name.error());
  const std::string& pattern = walk.name->pattern;
  const auto array = job.array();
  const bool is_array = array && is_like(array_name(*name, job.place), pattern);
  if (!is_array && !is_like(*name, pattern)) return {};
  note_batch(job, is_array ? array_name(*name, job.place) : *name);
  if (is_array && wanted_.among != Among::Live) {
    walks_.back().next = one_above(array->last);
    take_whole(*array);
  } else {
    take(job.id);
  }
  return {};
}

void Selection::note_batch(const KnownJob& job, std::string_view name) {
  batch_from_ = std::min(batch_from_, job.submitted);
  const auto [first, is_new] = names_of_batch_.try_emplace(std::string(name), job.submitted);
  first->second = std::min(first->second, job.submitted);
}

/// A name is used again: a job of it that had ended before the next was submitted was another try.
bool Selection::is_of_batch(const KnownJob& job, const std::string& name) const {
  if (!has_found_) return true;
  const auto same = names_of_batch_.find(name);
  if (same != names_of_batch_.end()) {
    return job.ended >= same->second || later(job.submitted, kLoopOfBatch) >= same->second;
  }
  return later(job.ended, kBetweenOfBatch) >= batch_from_;
}

/// One of the jobs that have ended, from the latest on: from the one that was submitted last.
Expected<void> Selection::look_for_ended() {
  const std::set<UserId> users =
      wanted_.users.empty() ? std::set<UserId>{wanted_.own} : wanted_.users;
  const auto known = world_.ended_below(
      *before_, users.size() == 1 ? std::optional(*users.begin()) : std::nullopt);
  if (!known) return std::unexpected(known.error());
  if (!*known) {
    before_.reset();
    return {};
  }
  const KnownJob& job = **known;
  before_ = job.id;
  if (has_found_ && job.user && later(job.submitted, kLongestBatch) < batch_from_) {
    before_.reset();
    return {};
  }
  if (!job.user || !users.contains(*job.user)) return {};
  const auto name = shown_name_of(job);
  if (!name) return std::unexpected(name.error());
  const std::string& pattern = std::get<JobsNamed>(wanted_.handles[at_].what).pattern;
  const auto array = job.array();
  const std::string whole(array ? array_name(*name, job.place) : "");
  const bool is_array = array && is_like(whole, pattern);
  if (is_array && wholes_.contains(array->first)) return {};
  if (!is_array && !is_like(*name, pattern)) return {};
  if (!is_of_batch(job, is_array ? whole : *name)) {
    if (names_of_batch_.contains(is_array ? whole : *name)) earlier_.push_back(job.id);
    return {};
  }
  note_batch(job, is_array ? whole : *name);
  if (is_array) {
    take_whole(*array);
    has_found_ = true;
  } else {
    take(job.id);
  }
  return {};
}

/// As lists have it: of a job without a name its command, with the parameters of a sweep. Both are
/// for the job's own user alone, since those of others may be hidden.
Expected<std::string> Selection::shown_name_of(const KnownJob& job) {
  auto name = world_.name_of(job.id);
  if (!name) return name;
  if (job.user != wanted_.own) return without_point(*name, job.place);
  return name->empty() ? world_.command_of(job.id) : name;
}

void Selection::walk_array(const ArraySpan& span, Among among) {
  walks_.push_back({.next = span.first, .last = span.last, .among = among});
}

/// An array by its name. It is what was asked for if nothing else has that name.
void Selection::take_whole(const ArraySpan& span) {
  const bool is_alone = wholes_.empty() && chosen_.empty() && span.first != span.last;
  wholes_.insert(span.first);
  if (is_alone) array_ = span;
  walk_array(span, Among::All);
}

void Selection::take(JobId job) {
  has_found_ = true;
  if (array_ && !array_->has(job)) array_.reset();
  if (seen_.insert(job).second) chosen_.push_back(job);
}

/// Why the handle at work stands for nothing.
Error Selection::nothing() const {
  const Handle& handle = wanted_.handles[at_];
  const bool are_live = wanted_.among == Among::Live;
  const std::string& typed = handle.typed;
  if (const auto* const numbers = std::get_if<NumberedJobs>(&handle.what)) {
    if (numbers->is_one()) return {ErrorCode::Conflict, "array " + typed + ": has ended already"};
    return {ErrorCode::NotFound, typed + (are_live ? ": no job of these has not ended yet"
                                                   : ": no job has one of these numbers")};
  }
  if (const auto* const tasks = std::get_if<TasksOfArray>(&handle.what)) {
    const std::string array = typed + ": array " + digits_of(tasks->array);
    if (tasks->is_one()) {
      return {ErrorCode::NotFound, array + " has no task " + std::to_string(tasks->tasks[0].first)};
    }
    if (are_live) return {ErrorCode::Conflict, array + " has no such task that has not ended"};
    return {ErrorCode::NotFound, array + " has no such task"};
  }
  const bool is_of_caller = wanted_.users.empty();
  return {ErrorCode::NotFound,
          typed + ": is not a job number, and no job of " + (is_of_caller ? "yours" : "that user") +
              (are_live ? " that has not ended" : "") + " has this name" +
              (is_of_caller ? "; for a job of another user say whose: -u USER" : "")};
}

}  // namespace berth::daemon
