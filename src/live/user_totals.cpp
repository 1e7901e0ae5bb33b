#include "live/user_totals.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/text.hpp"
#include "live/command.hpp"

namespace berth::live {

namespace {

Bytes size_of(std::string_view bytes) { return Bytes(static_cast<std::int64_t>(bytes.size())); }

/// What it brings along beside its command.
std::vector<std::string_view> words_of(const Submission& submission) {
  std::vector<std::string_view> words = {submission.environment};
  words.insert(words.end(), submission.more_environment.begin(), submission.more_environment.end());
  words.insert(words.end(), submission.more_arguments.begin(), submission.more_arguments.end());
  return words;
}

std::int64_t jobs_of(const Submission& submission) {
  return std::max<std::int64_t>(1, std::ssize(submission.tasks));
}

std::int64_t after_of(const Submission& submission) {
  return jobs_of(submission) * static_cast<std::int64_t>(waits_of_each(submission));
}

}  // namespace

/// What cannot be read is no reason to refuse a job.
UserTotals::Cost UserTotals::cost_of(const Keeper& keeper, BlobId command_blob) {
  const auto bytes = keeper.store().blob(command_blob);
  if (!bytes) return {};
  const auto command = decode_command(*bytes);
  Cost cost{.size = size_of(*bytes), .words = {}};
  if (!command) return cost;
  cost.words = {command->environment};
  for (const auto* const more : {&command->more_environment, &command->more_arguments}) {
    cost.words.insert(cost.words.end(), more->begin(), more->end());
  }
  return cost;
}

void UserTotals::add_command(const Keeper& keeper, Sums& fresh, const Sums& before,
                             BlobId command) {
  const auto [place, is_new] = fresh.commands.try_emplace(command);
  if (!is_new) return;  // another task of its array
  const auto known = before.commands.find(command);
  Cost& cost = place->second;
  cost = known == before.commands.end() ? cost_of(keeper, command) : known->second;
  fresh.bytes += cost.size;
  for (const BlobId words : cost.words) {
    const auto [size, is_first] = fresh.words.try_emplace(words);
    if (!is_first) continue;
    const auto counted = before.words.find(words);
    size->second = counted == before.words.end()
                       ? keeper.store().blob_size(words).value_or(Bytes(0))
                       : counted->second;
    fresh.bytes += size->second;
  }
}

void UserTotals::add(const Keeper& keeper, Sums& fresh, const Sums& before,
                     const JobSpec& spec) const {
  ++fresh.jobs;
  fresh.after += std::ssize(spec.conditions->after);
  if (most_.bytes != Bytes(0)) add_command(keeper, fresh, before, spec.command);
}

void UserTotals::count_all(const Keeper& keeper) {
  keeper.engine().view().for_each_job([&](const Job& job) {
    Known& known = users_[job.spec.user];
    known.ended = keeper.ended();
    add(keeper, known.sums, {}, job.spec);
  });
}

Bytes UserTotals::all_of(const Submission& submission) {
  Bytes all = size_of(encode(submission.command));
  for (const std::string_view words : words_of(submission)) all += size_of(words);
  return all;
}

Bytes UserTotals::more_by(const Keeper& keeper, const Known* known, const Submission& submission) {
  Bytes more = size_of(encode(submission.command));
  for (const std::string_view words : words_of(submission)) {
    const auto stored = keeper.store().find_blob(words);
    const bool is_counted = stored && known != nullptr && known->sums.words.contains(*stored);
    if (!is_counted) more += size_of(words);
  }
  return more;
}

/// Nothing if there is room for it.
std::string UserTotals::why_not(const Keeper& keeper, const Known* known,
                                const Submission& submission) const {
  static const Sums kNone;
  const Sums& has = known == nullptr ? kNone : known->sums;
  const auto beyond = [](std::int64_t sum, std::int64_t more, std::int64_t most) {
    return most != 0 && more != 0 && sum + more > most;
  };
  if (const auto more = jobs_of(submission); beyond(has.jobs, more, most_.jobs)) {
    return "you have " + std::to_string(has.jobs) +
           (has.jobs == 1 ? " job that waits or runs" : " jobs that wait or run") +
           " and ask for " + std::to_string(more) + " more, the most is " +
           std::to_string(most_.jobs) + " (user_queue)";
  }
  if (const auto more = after_of(submission); beyond(has.after, more, most_.after)) {
    return "after: your jobs have " + std::to_string(has.after) +
           " others to wait for, each job its own, and this one adds " + std::to_string(more) +
           "; the most is " + std::to_string(most_.after) +
           "; submit a job with 0 GPUs that waits for them, and the rest after that";
  }
  if (most_.bytes == Bytes(0)) return "";
  const Bytes more = more_by(keeper, known, submission);
  if (has.bytes + more <= most_.bytes) return "";
  return "commands and environments of your jobs that wait or run take " + to_text(has.bytes) +
         ", this job's " + to_text(more) + " more; the most is " + to_text(most_.bytes) +
         " (user_environments_size)";
}

bool UserTotals::may_have_less(const Keeper& keeper, const Submission& submission) const {
  const auto found = users_.find(submission.spec.user);
  if (found == users_.end()) return false;
  const Known& known = found->second;
  const bool is_as_counted = known.ended == keeper.ended() && !known.coming->has_changed;
  return !is_as_counted && !why_not(keeper, &known, submission).empty();
}

bool UserTotals::count(Count& under_way, const Keeper& keeper,
                       const std::function<bool()>& has_time) {
  constexpr int kJobsAtOnce = 16;
  const ClusterView view = keeper.engine().view();
  Known& known = users_[under_way.user];
  if (under_way.next == JobId()) {
    under_way.ended = keeper.ended();
    known.coming->has_changed = false;
  }
  auto id = view.job_from(under_way.next);
  for (int looked = 0; id; id = view.job_from(under_way.next)) {
    const Job& job = *view.find(*id);
    if (job.spec.user == under_way.user) add(keeper, under_way.fresh, known.sums, job.spec);
    under_way.next = JobId(id->value() + 1);
    if (++looked % kJobsAtOnce == 0 && !has_time()) return true;
  }
  // Of an array of which some jobs are there, these count twice until all are.
  const Coming& coming = *known.coming;
  under_way.fresh.jobs += coming.jobs;
  under_way.fresh.after += coming.after;
  under_way.fresh.bytes += coming.bytes;
  known.sums = std::move(under_way.fresh);
  known.ended = under_way.ended;
  return false;
}

Expected<void> UserTotals::take(const Keeper& keeper, Submission& submission) {
  Known& known = users_[submission.spec.user];
  if (std::string why = why_not(keeper, &known, submission); !why.empty()) {
    return fail(ErrorCode::Conflict, std::move(why));
  }
  const bool counts_bytes = most_.bytes != Bytes(0);
  // All of its bytes: the job that has some of them too may end before this one is there.
  const Coming more{.jobs = jobs_of(submission),
                    .after = after_of(submission),
                    .bytes = counts_bytes ? all_of(submission) : Bytes(0)};
  known.sums.jobs += more.jobs;
  known.sums.after += more.after;
  if (counts_bytes) known.sums.bytes += more_by(keeper, &known, submission);
  known.coming->jobs += more.jobs;
  known.coming->after += more.after;
  known.coming->bytes += more.bytes;
  submission.place =
      std::shared_ptr<void>(known.coming.get(), [coming = known.coming, more](void*) {
        coming->jobs -= more.jobs;
        coming->after -= more.after;
        coming->bytes -= more.bytes;
        coming->has_changed = true;
      });
  if (!counts_bytes) return {};
  for (const std::string_view words : words_of(submission)) {
    if (const auto stored = keeper.store().find_blob(words)) {
      known.sums.words[*stored] = size_of(words);
    }
  }
  return {};
}

}  // namespace berth::live
