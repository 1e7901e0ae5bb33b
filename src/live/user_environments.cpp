#include "live/user_environments.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "live/command.hpp"

namespace berth::live {

namespace {

constexpr Duration kSizeAgain = seconds(1);

Bytes size_of(std::string_view bytes) { return Bytes(static_cast<std::int64_t>(bytes.size())); }

/// What it brings along beside its command.
std::vector<std::string_view> words_of(const Submission& submission) {
  std::vector<std::string_view> words = {submission.environment};
  words.insert(words.end(), submission.more_environment.begin(), submission.more_environment.end());
  words.insert(words.end(), submission.more_arguments.begin(), submission.more_arguments.end());
  return words;
}

}  // namespace

/// What cannot be read is no reason to refuse a job.
UserEnvironments::Cost UserEnvironments::cost_of(const Keeper& keeper, BlobId blob) {
  const auto bytes = keeper.store().blob(blob);
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

void UserEnvironments::add(const Keeper& keeper, Known& fresh, const Known& before,
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

void UserEnvironments::count_all(const Keeper& keeper, Instant now) {
  if (most_ == Bytes(0)) return;
  keeper.engine().view().for_each_job([&](const Job& job) {
    Known& known = users_[job.spec.user];
    known.counted = now;
    add(keeper, known, {}, job.spec.command);
  });
}

Bytes UserEnvironments::more_by(const Keeper& keeper, const Submission& submission) const {
  const auto known = users_.find(submission.spec.user);
  Bytes more = size_of(encode(submission.command));
  for (const std::string_view words : words_of(submission)) {
    const auto stored = keeper.store().find_blob(words);
    const bool is_counted =
        stored && known != users_.end() && known->second.words.contains(*stored);
    if (!is_counted) more += size_of(words);
  }
  return more;
}

bool UserEnvironments::may_have_less(const Keeper& keeper, const Submission& submission,
                                     Instant now) const {
  const auto known = users_.find(submission.spec.user);
  return most_ != Bytes(0) && known != users_.end() && now - known->second.counted >= kSizeAgain &&
         known->second.bytes + more_by(keeper, submission) > most_;
}

bool UserEnvironments::count(Count& under_way, const Keeper& keeper,
                             const std::function<bool()>& has_time) {
  constexpr int kJobsAtOnce = 16;
  const ClusterView view = keeper.engine().view();
  Known& known = users_[under_way.user];
  if (under_way.next == JobId()) known.since = Bytes(0);
  auto id = view.job_from(under_way.next);
  for (int looked = 0; id; id = view.job_from(under_way.next)) {
    const Job& job = *view.find(*id);
    if (job.spec.user == under_way.user) add(keeper, under_way.fresh, known, job.spec.command);
    under_way.next = JobId(id->value() + 1);
    if (++looked % kJobsAtOnce == 0 && !has_time()) return true;
  }
  under_way.fresh.bytes += known.since;
  under_way.fresh.counted = under_way.began;
  known = std::move(under_way.fresh);
  return false;
}

Expected<void> UserEnvironments::take(const Keeper& keeper, const Submission& submission) {
  if (most_ == Bytes(0)) return {};
  const UserId user = submission.spec.user;
  const Bytes more = more_by(keeper, submission);
  Known& known = users_[user];
  if (known.bytes + more > most_) {
    return fail(ErrorCode::Conflict, "commands and environments of the jobs of uid " +
                                         std::to_string(user.value()) + " that wait or run take " +
                                         to_text(known.bytes) + ", this job's " + to_text(more) +
                                         " more; the most is " + to_text(most_) +
                                         " (user_environments_size)");
  }
  known.bytes += more;
  known.since += more;
  for (const std::string_view words : words_of(submission)) {
    if (const auto stored = keeper.store().find_blob(words)) known.words[*stored] = size_of(words);
  }
  return {};
}

}  // namespace berth::live
