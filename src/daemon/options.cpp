#include "daemon/options.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "core/amounts.hpp"
#include "core/limits.hpp"
#include "core/toml_bytes.hpp"
#include "core/words.hpp"
#include "daemon/processes.hpp"
#include "engine/possible.hpp"
#include "http/address.hpp"
#include "live/failed_starts.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {

namespace {

/// One value of the file, with where it stands for messages.
struct Value {
  const toml::node& node;
  std::string where;  ///< `FILE:LINE:COLUMN: KEY`

  std::unexpected<Error> refuse(const std::string& wanted) const {
    return fail(ErrorCode::InvalidArgument, where + ": " + wanted);
  }

  Expected<void> into(std::string& target) const {
    const auto text = node.value_exact<std::string>();
    if (!text) return refuse("must be a string");
    target = *text;
    return {};
  }
  Expected<void> into(bool& target) const {
    const auto truth = node.value_exact<bool>();
    if (!truth) return refuse("must be true or false");
    target = *truth;
    return {};
  }
  Expected<void> into(Duration& target) const {
    return amount(target, parse_duration, "must be a duration such as \"10s\"");
  }
  Expected<void> into_or_zero(Duration& target) const {
    const auto text = node.value_exact<std::string>();
    if (!text || !is_zero_duration(*text)) return into(target);
    target = Duration::zero();
    return {};
  }
  Expected<void> into(Bytes& target) const {
    return amount(target, parse_size, "must be a size such as \"512MiB\"");
  }
  Expected<std::int64_t> number(std::int64_t least, std::int64_t most) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < least || *value > most) {
      return refuse("must be a number from " + std::to_string(least) + " to " +
                    std::to_string(most));
    }
    return *value;
  }

 private:
  template <class Amount>
  Expected<void> amount(Amount& target, Expected<Amount> (*parse)(std::string_view),
                        const std::string& wanted) const {
    const auto text = node.value_exact<std::string>();
    if (!text) return refuse(wanted);
    const auto parsed = parse(*text);
    if (!parsed) return refuse("'" + *text + "' " + parsed.error().message);
    target = *parsed;
    return {};
  }
};

Expected<void> set_admission(Options& options, const Value& value) {
  std::string name;
  if (auto done = value.into(name); !done) return done;
  const auto mode = parse_admission(name);
  if (!mode) return value.refuse(mode.error().message);
  options.rules.settings.admission.mode = *mode;
  return {};
}

Expected<void> set_preempt_by(Options& options, const Value& value) {
  std::string name;
  if (auto done = value.into(name); !done) return done;
  const auto by = parse_preempt_by(name);
  if (!by) return value.refuse(by.error().message);
  options.preempt_by = *by;
  return {};
}

/// `oom_words = ["mylib: no device memory"]`.
Expected<void> set_oom_words(Options& options, const Value& value) {
  constexpr std::size_t kMost = 100;
  constexpr std::size_t kLongest = 200;
  constexpr std::size_t kShortest = 4;
  const toml::array* const list = value.node.as_array();
  std::vector<std::string> all;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto words = (*list)[i].value_exact<std::string>();
    const std::size_t stars = words ? static_cast<std::size_t>(std::ranges::count(*words, '*')) : 0;
    if (!words || words->size() < kShortest + stars || words->size() > kLongest ||
        words->find('\n') != std::string::npos) {
      break;
    }
    all.push_back(*words);
  }
  if (list == nullptr || all.size() != list->size() || all.size() > kMost) {
    return value.refuse("must be a list of at most " + std::to_string(kMost) + " texts of " +
                        std::to_string(kShortest) + " to " + std::to_string(kLongest) +
                        " characters, each of one line, as [\"mylib: no device memory\"]");
  }
  options.oom_words = std::move(all);
  return {};
}

Expected<void> set_overuse(Options& options, const Value& value) {
  std::string name;
  if (auto done = value.into(name); !done) return done;
  if (name == "keep") options.overuse = Overuse::Keep;
  if (name == "warn") options.overuse = Overuse::Warn;
  if (name == "end") options.overuse = Overuse::End;
  if (name == "keep" || name == "warn" || name == "end") return {};
  return value.refuse("'" + name + "' is unknown; valid values: keep, warn, end");
}

Expected<void> set_slots(Options& options, const Value& value) {
  const auto slots = value.number(1, kMostTenants);
  if (!slots) return std::unexpected(slots.error());
  options.slots = static_cast<std::uint16_t>(*slots);
  return {};
}

Expected<void> set_user_gpus(Options& options, const Value& value) {
  const auto gpus = value.number(0, 1 << 20);
  if (!gpus) return std::unexpected(gpus.error());
  options.rules.settings.limits.gpus = GpuCount(*gpus);
  return {};
}

Expected<void> set_user_jobs(Options& options, const Value& value) {
  const auto jobs = value.number(0, 1 << 20);
  if (!jobs) return std::unexpected(jobs.error());
  options.rules.settings.limits.jobs = static_cast<std::int32_t>(*jobs);
  return {};
}

Expected<void> set_user_queue(Options& options, const Value& value) {
  const auto jobs = value.number(0, 1 << 30);
  if (!jobs) return std::unexpected(jobs.error());
  options.user_queue = *jobs;
  return {};
}

Expected<void> set_learn_after(Options& options, const Value& value) {
  const auto runs = value.number(1, PastRuns::kMostRuns);
  if (!runs) return std::unexpected(runs.error());
  options.rules.learn_run_times_after = *runs;
  return {};
}

/// A table: weights by the names or numbers of users.
Expected<void> set_weights(Options& options, const Value& value) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("must be a table of users and weights");
  for (const auto& [name, node] : *table) {
    const Value entry{node, value.where + "." + std::string(name.str())};
    const auto user = number_of_user(name.str());
    if (!user) {  // a deleted user must not keep berthd from starting
      options.warnings.push_back(entry.where + ": there is no such user; left out");
      continue;
    }
    const auto weight = node.value<double>();
    if (!weight || !(*weight >= 0.001 && *weight <= 100'000)) {
      return entry.refuse("must be a weight from 0.001 to 100000");
    }
    options.rules.weights[UserId(*user)] = std::llround(*weight * 1000);
  }
  return {};
}

/// `vram_shrink = ["alice", "bob"]`.
Expected<void> set_shrinks(Options& options, const Value& value) {
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse("must be a list of users, such as [\"alice\"]");
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    if (!name) return value.refuse("must be a list of users, such as [\"alice\"]");
    const auto user = number_of_user(*name);
    if (user) {
      options.shrinks.insert(UserId(*user));
    } else {  // a deleted user must not keep berthd from starting
      options.warnings.push_back(value.where + ": there is no user " + *name + "; left out");
    }
  }
  return {};
}

/// Of several groups the larger limit counts; 0 is none, which is the largest.
template <class Number>
void take_larger(std::optional<Number>& known, const std::optional<Number>& other) {
  if (!other) return;
  const bool is_larger = !known || *other == Number(0) || (*known != Number(0) && *other > *known);
  if (is_larger) known = other;
}

void merge_limits(OwnLimits& known, const OwnLimits& other) {
  take_larger(known.gpus, other.gpus);
  take_larger(known.jobs, other.jobs);
  take_larger(known.weight_milli, other.weight_milli);
  take_larger(known.logs, other.logs);
}

Expected<OwnLimits> read_own_limits(const Value& value) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("must be a table of gpus, jobs, logs and weight");
  OwnLimits own;
  for (const auto& [key, node] : *table) {
    const Value entry{node, value.where + "." + std::string(key.str())};
    if (key.str() == "weight") {
      const auto weight = node.value<double>();
      if (!weight || !(*weight >= 0.001 && *weight <= 100'000)) {
        return entry.refuse("must be a weight from 0.001 to 100000");
      }
      own.weight_milli = std::llround(*weight * 1000);
      continue;
    }
    if (key.str() == "logs") {
      own.logs = Bytes(0);
      if (node.value_exact<std::string>() == "none") continue;
      if (auto done = entry.into(*own.logs); !done) return std::unexpected(done.error());
      continue;
    }
    if (key.str() != "gpus" && key.str() != "jobs") {
      return entry.refuse("unknown key; valid keys: gpus, jobs, logs, weight");
    }
    const auto number = entry.number(0, 1 << 20);
    if (!number) return std::unexpected(number.error());
    if (key.str() == "gpus") own.gpus = GpuCount(*number);
    if (key.str() == "jobs") own.jobs = static_cast<std::int32_t>(*number);
  }
  return own;
}

/// A table of tables, by the names of users or groups. One of a name that is gone is left out with
/// a warning: it must not keep berthd from starting.
Expected<void> read_named_limits(Options& options, const Value& value, const char* what,
                                 std::map<UserId, OwnLimits>& into) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("must be a table of names, each with gpus and jobs");
  const bool is_group = std::string_view(what) == "group";
  for (const auto& [name, node] : *table) {
    const Value entry{node, value.where + "." + std::string(name.str())};
    const auto own = read_own_limits(entry);
    if (!own) return std::unexpected(own.error());
    std::optional<std::vector<uid_t>> users;
    if (is_group) {
      users = members_of_group(name.str());
    } else if (const auto user = number_of_user(name.str())) {
      users = std::vector<uid_t>{*user};
    }
    if (!users) {
      options.warnings.push_back(entry.where + ": there is no such " + what + "; left out");
      continue;
    }
    for (const uid_t user : *users) merge_limits(into[UserId(user)], *own);
  }
  return {};
}

Expected<void> set_users(Options& options, const Value& value) {
  return read_named_limits(options, value, "user", options.of_users);
}

Expected<void> set_groups(Options& options, const Value& value) {
  return read_named_limits(options, value, "group", options.of_groups);
}

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
  }
  for (const auto& [user, own] : all) {
    const UserLimits limits{.gpus = own.gpus.value_or(settings.limits.gpus),
                            .jobs = own.jobs.value_or(settings.limits.jobs)};
    if (limits != settings.limits) settings.user_limits[user] = limits;
    if (own.weight_milli) options.rules.weights.try_emplace(user, *own.weight_milli);
    if (own.logs) options.retention.of_users[user] = *own.logs;
  }
}

/// What stands behind a key of a policy, as a text would have it: a list has colons between.
std::optional<std::string> key_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto factor = node.value_exact<double>()) {
    std::ostringstream text;
    text << *factor;
    return text.str();
  }
  const toml::array* const list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::string all;
  for (const toml::node& each : *list) {
    const auto number = each.value_exact<std::int64_t>();
    if (!number) return std::nullopt;
    all += (all.empty() ? "" : ":") + std::to_string(*number);
  }
  return all;
}

/// A table of keys and values.
Expected<NamedKeys> named_keys_of(const std::string& name, const Value& value) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("must be a table of keys and values");
  NamedKeys named{.name = name, .keys = {}};
  for (const auto& [key, node] : *table) {
    const auto text = key_text(node);
    const Value entry{node, value.where + "." + std::string(key.str())};
    if (!text) return entry.refuse("must be a string, a number or a list of numbers");
    named.keys.emplace_back(std::string(key.str()), *text);
  }
  return named;
}

/// `policy = "las:quantum=1m"`, or a table of `name` and of tables of keys by name.
Expected<void> set_named(std::string& target, std::map<std::string, NamedKeys>& tables,
                         const Value& value, Expected<Chosen> (*check)(const NamedKeys&)) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.into(target);
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    const Value entry{node, value.where + "." + name};
    if (name == "name") {
      if (auto done = entry.into(target); !done) return done;
      continue;
    }
    auto named = named_keys_of(name, entry);
    if (!named) return std::unexpected(named.error());
    if (const auto chosen = check(*named); !chosen) return entry.refuse(chosen.error().message);
    tables[name] = std::move(*named);
  }
  return {};
}

Expected<Chosen> check_policy(const NamedKeys& named) { return choose(to_text(named)); }
Expected<Chosen> check_placement(const NamedKeys& named) { return choose("fifo", to_text(named)); }

Expected<void> set_policy(Options& options, const Value& value) {
  return set_named(options.rules.policy, options.policy_keys, value, check_policy);
}

Expected<void> set_place(Options& options, const Value& value) {
  return set_named(options.rules.place, options.place_keys, value, check_placement);
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

/// Policy and placement with the keys of their tables. Errors: those of choose().
Expected<void> complete_policy(Options& options) {
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

/// Cores, whole or not; nothing for what is none.
template <CpuMilli Options::* Member>
Expected<void> set_cores(Options& options, const Value& value) {
  const auto cores = value.node.value<double>();
  if (!cores || !(*cores >= 0 && *cores <= static_cast<double>(limits::kMostCores.raw()) / 1000)) {
    return value.refuse("must be a number of cores from 0 to " +
                        std::to_string(limits::kMostCores.raw() / 1000));
  }
  options.*Member = CpuMilli(std::llround(std::ceil(*cores * 1000)));
  return {};
}

/// A look takes up to a few milliseconds on real cards.
Expected<void> set_fast(Options& options, const Value& value) {
  constexpr Duration kLeast = Duration(1'000);
  Duration fast{};
  if (auto done = value.into(fast); !done) return done;
  if (fast < kLeast) return value.refuse("must be at least 1ms");
  options.probe_fast = fast;
  return {};
}

/// A list of rungs. Watching is part of `guarantee`, so it is in every list.
Expected<void> set_limits(Options& options, const Value& value) {
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse("must be a list, such as [\"driver\", \"watch\"]");
  std::vector<Rung> rungs;
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    const auto rung = name ? rung_of(*name) : std::nullopt;
    if (!rung) return value.refuse("must have driver and watch, or watch alone");
    rungs.push_back(*rung);
  }
  const bool is_ladder =
      rungs == std::vector{Rung::Driver, Rung::Watch} || rungs == std::vector{Rung::Watch};
  if (!is_ladder) return value.refuse("must have driver and watch, in this order, or watch alone");
  options.limits = std::move(rungs);
  return {};
}

/// `operators = ["alice", "@wheel"]`. A name that is gone is left out with a warning.
template <NamedUsers Roles::* Member>
Expected<void> set_role(Options& options, const Value& value) {
  const std::string wanted = "must be a list of users and @groups, such as [\"alice\", \"@ops\"]";
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse(wanted);
  NamedUsers named;
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    if (!name || name->empty()) return value.refuse(wanted);
    const bool is_group = name->starts_with('@');
    const auto user = is_group ? std::nullopt : number_of_user(*name);
    const auto group = is_group ? number_of_group(name->substr(1)) : std::nullopt;
    if (user) named.users.insert(*user);
    if (group) named.groups.insert(*group);
    if (user || group) continue;
    options.warnings.push_back(value.where + ": there is no " + (is_group ? "group " : "user ") +
                               (is_group ? name->substr(1) : *name) + "; left out");
  }
  options.roles.*Member = std::move(named);
  return {};
}

Expected<void> set_job_groups(Options& options, const Value& value) {
  const std::string wanted = "must be a list of unix groups, such as [\"gpu-jobs\"]";
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse(wanted);
  std::set<gid_t> groups;
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    if (!name || name->empty()) return value.refuse(wanted);
    const auto group = number_of_group(*name);
    if (group) {
      groups.insert(*group);
    } else {
      options.warnings.push_back(value.where + ": there is no group " + *name + "; left out");
    }
  }
  options.job_groups = std::move(groups);
  return {};
}

Expected<void> set_audit_cap(Options& options, const Value& value) {
  constexpr Bytes kLeast{std::int64_t{1} << 20};
  Bytes cap(0);
  if (auto done = value.into(cap); !done) return done;
  if (cap < kLeast) return value.refuse("must be at least 1MiB");
  options.audit_cap = cap;
  return {};
}

Expected<void> set_notify_on(Options& options, const Value& value) {
  const std::string wanted =
      "must be a list of start, end, fail, idle and overuse, such as [\"end\"]";
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse(wanted);
  std::string text;
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    if (!name) return value.refuse(wanted);
    text += (text.empty() ? "" : ",") + *name;
  }
  auto occasions = live::parse_occasions(text);
  if (!occasions) return value.refuse(wanted);
  options.notify_on = std::move(*occasions);
  return {};
}

Expected<void> set_exclude(Options& options, const Value& value) {
  constexpr std::int64_t kMost = 65535;
  const std::string wanted = "must be a list of indices of GPUs, such as [0]";
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse(wanted);
  std::set<GpuId> gpus;
  for (const toml::node& node : *list) {
    const auto index = node.value_exact<std::int64_t>();
    if (!index || *index < 0 || *index > kMost) return value.refuse(wanted);
    gpus.insert(GpuId(static_cast<std::uint32_t>(*index)));
  }
  options.exclude = std::move(gpus);
  return {};
}

/// A list of what the kernel limits; an empty one for nothing.
Expected<void> set_host_limits(Options& options, const Value& value) {
  const std::string wanted = "must be a list of memory, cores and processes, such as [\"memory\"]";
  const toml::array* const list = value.node.as_array();
  if (list == nullptr) return value.refuse(wanted);
  std::vector<HostLimit> limits;
  for (const toml::node& node : *list) {
    const auto name = node.value_exact<std::string>();
    const auto limit = name ? host_limit_of(*name) : std::nullopt;
    if (!limit) return value.refuse(wanted);
    limits.push_back(*limit);
  }
  options.host_limits = std::move(limits);
  return {};
}

/// `mig = "keep"`, or `mig = ["3g.40gb", "2g.20gb"]`: what to cut.
Expected<void> set_mig(Options& options, const Value& value) {
  constexpr std::size_t kMost = 7;
  const toml::array* const list = value.node.as_array();
  const bool keeps = value.node.value_exact<std::string>() == "keep";
  std::vector<std::string> profiles;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto name = (*list)[i].value_exact<std::string>();
    if (name) profiles.push_back(*name);
  }
  const bool is_list = list != nullptr && profiles.size() == list->size() && !profiles.empty();
  if (!keeps && (!is_list || profiles.size() > kMost)) {
    return value.refuse("must be \"keep\", or a list of 1 to " + std::to_string(kMost) +
                        " profiles to cut each GPU with MIG on into, as [\"3g.40gb\"]");
  }
  options.mig_profiles = std::move(profiles);
  return {};
}

Expected<void> set_most_preemptions(Options& options, const Value& value) {
  const auto number = value.number(0, 1 << 20);
  if (!number) return std::unexpected(number.error());
  options.rules.bounds.most = static_cast<std::int32_t>(*number);
  return {};
}

struct Key {
  std::string_view name;
  Expected<void> (*set)(Options&, const Value&);
};

/// Every key of the file: doc/configuration.md says what they mean.
constexpr auto kKeys = std::to_array<Key>({
    {"state", [](Options& o, const Value& v) { return v.into(o.state); }},
    {"socket", [](Options& o, const Value& v) { return v.into(o.socket); }},
    {"emulate", [](Options& o, const Value& v) { return v.into(o.emulate); }},
    {"nvml", [](Options& o, const Value& v) { return v.into(o.nvml); }},
    {"policy", set_policy},
    {"place", set_place},
    {"admission", set_admission},
    {"slots", set_slots},
    {"cores", set_cores<&Options::cores>},
    {"default_cpus", set_cores<&Options::default_cpu>},
    {"again_after_overrun",
     [](Options& o, const Value& v) { return v.into(o.again_after_overrun); }},
    {"overuse", set_overuse},
    {"oom_words", set_oom_words},
    {"context", [](Options& o, const Value& v) { return v.into(o.context); }},
    {"guard",
     [](Options& o, const Value& v) { return v.into(o.rules.settings.admission.guard_floor); }},
    {"user_gpus", set_user_gpus},
    {"user_jobs", set_user_jobs},
    {"user_queue", set_user_queue},
    {"user_environments_size",
     [](Options& o, const Value& v) { return v.into(o.user_environments); }},
    {"half_life",
     [](Options& o, const Value& v) { return v.into(o.rules.settings.service_half_life); }},
    {"probe", [](Options& o, const Value& v) { return v.into(o.probe); }},
    {"probe_fast", set_fast},
    {"grace", [](Options& o, const Value& v) { return v.into(o.grace); }},
    {"log_cap", [](Options& o, const Value& v) { return v.into(o.log_cap); }},
    {"learn_run_times", [](Options& o, const Value& v) { return v.into(o.rules.learn_run_times); }},
    {"learn_run_times_after", set_learn_after},
    {"learn_memory", [](Options& o, const Value& v) { return v.into(o.rules.learn_memory); }},
    {"speeds", [](Options& o, const Value& v) { return v.into(o.speeds); }},
    {"limits", set_limits},
    {"mig", set_mig},
    {"idle_after", [](Options& o, const Value& v) { return v.into(o.idle.after); }},
    {"idle_suspend", [](Options& o, const Value& v) { return v.into(o.idle.suspend); }},
    {"idle_end", [](Options& o, const Value& v) { return v.into(o.idle.end); }},
    {"keep_jobs", [](Options& o, const Value& v) { return v.into(o.retention.jobs); }},
    {"keep_logs", [](Options& o, const Value& v) { return v.into(o.retention.logs); }},
    {"keep_user_logs_size",
     [](Options& o, const Value& v) { return v.into(o.retention.user_logs_size); }},
    {"keep_logs_size", [](Options& o, const Value& v) { return v.into(o.retention.logs_size); }},
    {"host_limits", set_host_limits},
    {"job_groups", set_job_groups},
    {"accounting", [](Options& o, const Value& v) { return v.into(o.accounting); }},
    {"device_rules", [](Options& o, const Value& v) { return v.into(o.device_rules); }},
    {"device_folder", [](Options& o, const Value& v) { return v.into(o.device_folder); }},
    {"operators", set_role<&Roles::operators>},
    {"admins", set_role<&Roles::admins>},
    {"hide_arguments", [](Options& o, const Value& v) { return v.into(o.hide_arguments); }},
    {"audit_cap", set_audit_cap},
    {"notify_command", [](Options& o, const Value& v) { return v.into(o.notify_command); }},
    {"notify_on", set_notify_on},
    {"exclude", set_exclude},
    {"cgroup", [](Options& o, const Value& v) { return v.into(o.cgroup); }},
    {"weights", set_weights},
    {"vram_shrink", set_shrinks},
    {"vram_shrink_after", [](Options& o, const Value& v) { return v.into(o.shrink_after); }},
    {"users", set_users},
    {"groups", set_groups},
    {"preempt_by", set_preempt_by},
    {"suspend_host_memory", [](Options& o, const Value& v) { return v.into(o.suspend_memory); }},
    {"suspend_patience", [](Options& o, const Value& v) { return v.into(o.suspend_patience); }},
    {"preemption.most", set_most_preemptions},
    {"preemption.lost", [](Options& o, const Value& v) { return v.into(o.rules.bounds.lost); }},
});

std::string known_keys() {
  std::string names;
  for (const Key& key : kKeys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  return names;
}

std::string place_of(const toml::node& node, const std::string& file) {
  const toml::source_position at = node.source().begin;
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

/// `outer` is the name of the table with its dot, "" for the file itself.
Expected<void> read_table(Options& options, const toml::table& table, const std::string& outer,
                          const std::string& file) {
  for (const auto& [name, node] : table) {
    const std::string full = outer + std::string(name.str());
    const std::string where = place_of(node, file) + ": " + full;
    const auto key = std::ranges::find(kKeys, full, &Key::name);
    Expected<void> done;
    if (key != kKeys.end()) {
      done = key->set(options, {node, where});
    } else if (outer.empty() && node.is_table()) {
      done = read_table(options, *node.as_table(), full + ".", file);
    } else {
      done = fail(ErrorCode::InvalidArgument, where + ": unknown key; valid keys: " + known_keys());
    }
    if (!done) return done;
  }
  return {};
}

}  // namespace

Expected<AdmissionMode> parse_admission(std::string_view name) {
  if (const auto mode = from_word<AdmissionMode>(name)) return *mode;
  return fail(ErrorCode::InvalidArgument,
              "admission '" + std::string(name) +
                  "' is unknown; valid values: " + all_words<AdmissionMode>());
}

Expected<PreemptBy> parse_preempt_by(std::string_view name) {
  if (name == "suspend") return PreemptBy::Suspend;
  if (name == "signal") return PreemptBy::Signal;
  if (name == "restart") return PreemptBy::Restart;
  return fail(
      ErrorCode::InvalidArgument,
      "preempt_by '" + std::string(name) + "' is unknown; valid values: suspend, signal, restart");
}

std::string default_config(const Surroundings& around) {
  if (around.user == 0) return "/etc/berth/berth.toml";
  return around.home.empty() ? "" : around.home + "/.config/berth/berth.toml";
}

Expected<void> read_config(Options& options, std::string_view text, const std::string& file) {
  if (auto fit = check_toml_bytes(text, file); !fit) return fit;
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    return fail(ErrorCode::BadData, file + ":" + std::to_string(at.line) + ":" +
                                        std::to_string(at.column) + ": " +
                                        std::string(parsed.error().description()));
  }
  return read_table(options, parsed.table(), "", file);
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
  if (auto done = complete_policy(options); !done) return done;
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
