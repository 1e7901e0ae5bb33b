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

std::vector<BlobId> commands_of(const ClusterView& view, UserId user) {
  std::vector<BlobId> commands;
  view.for_each_job([&](const Job& job) {
    if (job.spec.user == user) commands.push_back(job.spec.command);
  });
  return commands;
}

}  // namespace

/// What cannot be read is no reason to refuse a job.
UserEnvironments::Cost UserEnvironments::cost_of(const Keeper& keeper, BlobId blob) {
  const auto bytes = keeper.store().blob(blob);
  if (!bytes) return {};
  const auto command = decode_command(*bytes);
  return {.size = size_of(*bytes), .environment = command ? command->environment : BlobId()};
}

void UserEnvironments::count(const Keeper& keeper, Known& known,
                             const std::vector<BlobId>& commands, Instant now) {
  Known fresh;
  fresh.counted = now;
  for (const BlobId command : commands) {
    const auto [place, is_new] = fresh.commands.try_emplace(command);
    if (!is_new) continue;  // another task of its array
    const auto before = known.commands.find(command);
    Cost& cost = place->second;
    cost = before == known.commands.end() ? cost_of(keeper, command) : before->second;
    fresh.bytes += cost.size;
    const auto [environment, is_first] = fresh.environments.try_emplace(cost.environment);
    if (!is_first) continue;
    const auto size = known.environments.find(cost.environment);
    environment->second = size == known.environments.end()
                              ? size_of(keeper.store().blob(cost.environment).value_or(""))
                              : size->second;
    fresh.bytes += environment->second;
  }
  known = std::move(fresh);
}

void UserEnvironments::count_all(const Keeper& keeper, Instant now) {
  if (most_ == Bytes(0)) return;
  std::map<UserId, std::vector<BlobId>> commands;
  keeper.engine().view().for_each_job(
      [&](const Job& job) { commands[job.spec.user].push_back(job.spec.command); });
  for (const auto& [user, list] : commands) count(keeper, users_[user], list, now);
}

Expected<void> UserEnvironments::take(const Keeper& keeper, const Submission& submission,
                                      Instant now) {
  if (most_ == Bytes(0)) return {};
  const UserId user = submission.spec.user;
  Known& known = users_[user];
  const std::string& environment = submission.environment;
  const auto stored = keeper.store().find_blob(environment);
  const auto more = [&] {
    const bool is_counted = stored && known.environments.contains(*stored);
    return size_of(encode(submission.command)) + (is_counted ? Bytes(0) : size_of(environment));
  };
  if (known.bytes + more() > most_ && now - known.counted >= kSizeAgain) {
    count(keeper, known, commands_of(keeper.engine().view(), user), now);
  }
  if (known.bytes + more() > most_) {
    return fail(ErrorCode::Conflict, "commands and environments of the jobs of uid " +
                                         std::to_string(user.value()) + " that wait or run take " +
                                         to_text(known.bytes) + ", this job's " + to_text(more()) +
                                         " more; the most is " + to_text(most_) +
                                         " (user_environments_size)");
  }
  known.bytes += more();
  if (stored) known.environments[*stored] = size_of(environment);
  return {};
}

}  // namespace berth::live
