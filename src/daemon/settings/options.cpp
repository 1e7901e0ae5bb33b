#include "daemon/settings/options.hpp"

#include <algorithm>

#include "core/text/words.hpp"
#include "engine/possible.hpp"
#include "http/address.hpp"
#include "live/failed_starts.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {

namespace {

/// What is said of a user wins over what is said of the user's groups, that over what is said of
/// all.
void complete_limits(Options& options) {
  Settings& settings = options.rules.settings;
  std::map<UserId, OwnLimits> all = options.of_groups;
  for (const auto& [user, own] : options.of_users) {
    OwnLimits& known = all[user];
    if (own.gpus) known.gpus = own.gpus;
    if (own.jobs) known.jobs = own.jobs;
    if (own.weight_milli) known.weight_milli = own.weight_milli;
    if (own.logs) known.logs = own.logs;
    if (own.share) known.share = own.share;
    if (own.submit) known.submit = own.submit;
  }
  for (const auto& [user, own] : all) {
    const UserLimits limits{.gpus = own.gpus.value_or(settings.limits.gpus),
                            .jobs = own.jobs.value_or(settings.limits.jobs)};
    if (limits != settings.limits) settings.user_limits[user] = limits;
    if (own.weight_milli) options.rules.weights.try_emplace(user, *own.weight_milli);
    if (own.logs) options.retention.of_users[user] = *own.logs;
    if (own.share) options.sharing.of_users[user] = *own.share;
    if (!own.submit.value_or(true)) options.barred.insert(user);
  }
}

/// What the tables of keys add to what is written with a name.
void add_keys(NamedKeys& named, const std::map<std::string, NamedKeys>& tables) {
  const auto table = tables.find(named.name);
  if (table == tables.end()) return;
  for (const auto& key : table->second.keys) {
    const bool is_given = std::ranges::any_of(
        named.keys, [&](const auto& given) { return given.first == key.first; });
    if (!is_given) named.keys.push_back(key);
  }
}

}  // namespace

Expected<void> complete_policy(Options& options) {
  if (options.rules.policy == kAutoPolicy) {
    for (const char* const either : {"turns", "headroom"}) {
      Options other = options;
      other.rules.policy = either;
      if (auto done = complete_policy(other); !done) return done;
    }
    return {};
  }
  auto spec = parse_policy(options.rules.policy);
  if (!spec) return std::unexpected(spec.error());
  auto place = parse_named_keys(options.rules.place);
  if (!place) return std::unexpected(place.error());
  add_keys(spec->order, options.policy_keys);
  if (spec->place) add_keys(*spec->place, options.place_keys);
  add_keys(*place, options.place_keys);
  options.rules.policy = to_text(*spec);
  options.rules.place = to_text(*place);
  const auto chosen = choose(options.rules.policy, options.rules.place);
  return chosen ? Expected<void>() : std::unexpected(chosen.error());
}

namespace {

/// `FILE:3:1: ` where the file has the policy or placement that a message names; else "".
std::string place_of_policy(const Options& options, const std::string& message) {
  constexpr std::string_view kBefore = "\"  # ";  // as show_config() has it
  for (const char* const key : {"policy", "place"}) {
    const auto line = options.from_file.find(key);
    if (line == options.from_file.end()) continue;
    const std::size_t begin = line->second.find('"') + 1;
    const std::size_t end = line->second.find(kBefore, begin);
    if (begin == 0 || end == std::string::npos) continue;
    const std::string_view value = std::string_view(line->second).substr(begin, end - begin);
    if (!message.contains(value.substr(0, value.find(':')))) continue;
    const std::size_t at = end + kBefore.size();
    return line->second.substr(at, line->second.find('\n', at) - at) + ": ";
  }
  return "";
}

}  // namespace

std::string default_config(const Surroundings& around) {
  if (around.user == 0) return "/etc/berth/berth.toml";
  return around.home.empty() ? "" : around.home + "/.config/berth/berth.toml";
}

Expected<void> complete(Options& options, const Surroundings& around) {
  if (options.state.empty()) {
    if (around.user != 0 && around.home.empty()) {
      return fail(ErrorCode::InvalidArgument, "no --state given and no home folder known");
    }
    options.state = around.user == 0 ? "/var/lib/berth" : around.home + "/.local/state/berth";
  }
  if (options.socket.empty()) {
    options.socket = http::default_socket(around.user, around.runtime, around.home);
  }
  const bool guarantees = options.rules.settings.admission.mode == AdmissionMode::Guarantee;
  if (!guarantees && options.emulate.empty() && !options.unsafe) {
    return fail(ErrorCode::InvalidArgument,
                "admission '" + std::string(word_for(options.rules.settings.admission.mode)) +
                    "' lets jobs on real GPUs run out of memory; say --unsafe if that is wanted");
  }
  if (auto done = complete_policy(options); !done) {
    return fail(done.error().code,
                place_of_policy(options, done.error().message) + done.error().message);
  }
  complete_limits(options);
  if (options.preempt_by == PreemptBy::Signal) options.rules.bounds = kNeverPreempted;
  if (!is_sensible(options.rules.settings)) {
    return fail(ErrorCode::InvalidArgument,
                "the settings of admission or limits are out of range: doc/configuration.md gives "
                "the ranges");
  }
  options.rules.settings.max_failed_starts = live::kMostFailedStarts;
  options.rules.settings.own_priority = true;
  return {};
}

}  // namespace berth::daemon
