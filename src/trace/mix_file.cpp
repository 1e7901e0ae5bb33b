// The files of workloads and mixes; doc/scenarios.md defines them.
#include <algorithm>
#include <array>
#include <map>

#include "core/text/words.hpp"
#include "trace/mix.hpp"
#include "trace/rows.hpp"
#include "trace/toml_value.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostMebibytesAsked = std::int64_t{1} << 30;
constexpr std::int64_t kMostWeight = 1'000'000;
constexpr std::int64_t kMostUsers = 10'000;

struct WorkloadColumns {
  explicit WorkloadColumns(Columns& columns)
      : name(columns.need("name")),
        gpus(columns.need("gpus")),
        vram(columns.need("vram_mib")),
        memory(columns.need("memory")),
        duty(columns.need("duty_milli")),
        duration(columns.need("duration_seconds")),
        duration_class(columns.need("class")) {}

  std::size_t name, gpus, vram, memory, duty, duration, duration_class;
};

Workload workload_of(Row& row, const WorkloadColumns& columns) {
  Workload workload;
  workload.name = row.name(columns.name);
  workload.gpus = row.gpus(columns.gpus);
  workload.asks = Bytes(row.integer(columns.vram, 1, kMostMebibytesAsked) << 20);
  workload.duty = GpuMilli(row.integer(columns.duty, 0, 1000));
  workload.run_time = row.duration(columns.duration);
  if (workload.run_time == Duration(0)) row.refuse(columns.duration, "more than 0 seconds");
  auto use = parse_use_curve(row.text(columns.memory));
  if (use && use->peak() > Bytes(0)) {
    workload.use = std::move(*use);
  } else {
    row.refuse(columns.memory, "points SECONDS:MIB, ascending in time, some above 0 MiB");
  }
  const auto stated = from_word<DurationClass>(row.text(columns.duration_class));
  if (!stated) row.refuse(columns.duration_class, "one of " + all_words<DurationClass>());
  workload.duration_class = stated.value_or(DurationClass::Medium);
  return workload;
}

std::optional<std::size_t> index_of(std::string_view name, std::span<const Workload> workloads) {
  const auto found = std::ranges::find(workloads, name, &Workload::name);
  if (found == workloads.end()) return std::nullopt;
  return static_cast<std::size_t>(found - workloads.begin());
}

/// A table's values by workload: `{ lora-7b = 0.5 }`.
template <class Use>
Expected<void> each_workload(const TomlValue& value, std::span<const Workload> workloads, Use use) {
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("a table of workloads, such as { lora-7b = 1 }");
  for (const auto& [name, node] : *table) {
    const auto index = index_of(name.str(), workloads);
    if (!index) return value.refuse("of workloads; there is no '" + shown(name.str()) + "'");
    if (auto done = use(*index, TomlValue{node, value.where + "." + shown(name.str())}); !done) {
      return done;
    }
  }
  return {};
}

Expected<void> check_choices(const TomlValue& value, const std::vector<Mix::Choice>& choices) {
  if (!std::ranges::all_of(choices, [](const auto& c) { return c.weight == 0; })) return {};
  return value.refuse("weights of which at least one is above 0");
}

Expected<void> set_workloads(Mix& mix, const TomlValue& value,
                             std::span<const Workload> workloads) {
  std::vector<Mix::Choice> choices;
  auto done = each_workload(value, workloads, [&](std::size_t index, const TomlValue& weight) {
    choices.push_back({.workloads = {index}});
    return put(choices.back().weight, weight.thousandths(0, kMostWeight));
  });
  if (done) done = check_choices(value, choices);
  if (!done) return done;
  std::ranges::sort(choices, {}, &Mix::Choice::workloads);  // in the order of the workloads
  mix.choices = std::move(choices);
  return {};
}

Expected<void> set_sizes(Mix& mix, const TomlValue& value, std::span<const Workload> workloads) {
  std::map<std::int64_t, Mix::Choice> by_gpus;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    auto& choice = by_gpus[workloads[i].gpus.raw()];
    choice.weight = 0;
    choice.workloads.push_back(i);
  }
  const toml::table* const table = value.node.as_table();
  if (table == nullptr) return value.refuse("a table by GPUs, such as { 1 = 0.9, 2 = 0.1 }");
  for (const auto& [gpus, node] : *table) {
    const auto found = std::ranges::find_if(
        by_gpus, [&](const auto& choice) { return std::to_string(choice.first) == gpus.str(); });
    if (found == by_gpus.end()) {
      return value.refuse("by GPUs of workloads; none has '" + shown(gpus.str()) + "'");
    }
    const TomlValue weight{node, value.where + "." + shown(gpus.str())};
    if (auto done = put(found->second.weight, weight.thousandths(0, kMostWeight)); !done) {
      return done;
    }
  }
  std::vector<Mix::Choice> choices;
  for (auto& [gpus, choice] : by_gpus) choices.push_back(std::move(choice));
  if (auto done = check_choices(value, choices); !done) return done;
  mix.choices = std::move(choices);
  return {};
}

Expected<void> set_extras(Mix& mix, const TomlValue& value, std::span<const Workload> workloads) {
  std::vector<Mix::Extra> extras;
  auto done = each_workload(value, workloads, [&](std::size_t index, const TomlValue& at) {
    extras.push_back({.workload = index});
    return put(extras.back().at, at.thousandths(0, 1));
  });
  if (!done) return done;
  std::ranges::sort(extras, {}, &Mix::Extra::workload);
  mix.extras = std::move(extras);
  return {};
}

/// A value that is one of a few words; `words` in the order of the enumeration.
template <class Enum>
Expected<Enum> word_of(const TomlValue& value, std::initializer_list<std::string_view> words) {
  const auto text = value.node.value_exact<std::string_view>();
  std::string all;
  std::size_t index = 0;
  for (const std::string_view word : words) {
    if (text == word) return static_cast<Enum>(index);
    all += (all.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    ++index;
  }
  return value.refuse("one of " + all);
}

using Among = std::span<const Workload>;
struct MixKey {
  std::string_view name;
  Expected<void> (*set)(Mix&, const TomlValue&, Among);
};

/// Every key of a mix beside its name: doc/scenarios.md says what they mean.
constexpr auto kMixKeys = std::to_array<MixKey>({
    {"workloads", set_workloads},
    {"sizes", set_sizes},
    {"also", set_extras},
    {"run_times",
     [](Mix& m, const TomlValue& v, Among) {
       return put(m.run_times, word_of<RunTimes>(v, {"table", "philly"}));
     }},
    {"arrivals",
     [](Mix& m, const TomlValue& v, Among) {
       return put(m.arrivals, word_of<Arrivals>(v, {"daily", "steady", "together"}));
     }},
    {"load_of", [](Mix& m, const TomlValue& v,
                   Among) { return put(m.load_of, word_of<LoadOf>(v, {"gpus", "memory"})); }},
    {"load",
     [](Mix& m, const TomlValue& v, Among) -> Expected<void> {
       const auto load = v.thousandths(0, 100);
       if (load && *load == 0) return v.refuse("a number from 0.001 to 100");
       return put(m.load, load);
     }},
    {"users",
     [](Mix& m, const TomlValue& v, Among) { return put(m.users, v.number(1, kMostUsers)); }},
    {"greedy",
     [](Mix& m, const TomlValue& v, Among) { return put(m.greedy, v.number(0, kMostUsers)); }},
    {"lying",
     [](Mix& m, const TomlValue& v, Among) { return put(m.lying, v.number(0, kMostUsers)); }},
    {"limit",
     [](Mix& m, const TomlValue& v, Among) { return put(m.limit, v.thousandths(0, 1000)); }},
    {"estimates", [](Mix& m, const TomlValue& v, Among) { return put(m.estimates, v.text()); }},
});

std::string known_mix_keys() {
  std::string names;
  for (const MixKey& key : kMixKeys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  return names;
}

Expected<void> set_key(Mix& mix, std::string_view name, const TomlValue& value,
                       std::span<const Workload> workloads) {
  const auto* const key = std::ranges::find(kMixKeys, name, &MixKey::name);
  if (key != kMixKeys.end()) return key->set(mix, value, workloads);
  return fail(ErrorCode::BadData,
              value.where + ": unknown key of a mix; valid keys: " + known_mix_keys());
}

Expected<void> check_users(const Mix& mix, const std::string& where) {
  if (mix.greedy + mix.lying <= mix.users) return {};
  return fail(ErrorCode::BadData, where + ": mix '" + mix.name + "' has " +
                                      std::to_string(mix.greedy) + " greedy and " +
                                      std::to_string(mix.lying) + " lying users of " +
                                      std::to_string(mix.users));
}

/// All workloads, each as likely.
Mix usual_mix(std::span<const Workload> workloads) {
  Mix mix;
  mix.choices.emplace_back();
  for (std::size_t i = 0; i < workloads.size(); ++i) mix.choices.front().workloads.push_back(i);
  return mix;
}

Expected<Mix> mix_of(const toml::table& table, std::string_view file, const std::vector<Mix>& above,
                     std::span<const Workload> workloads) {
  const std::string where = place_of(table, file);
  Mix mix = usual_mix(workloads);
  if (const toml::node* const like = table.get("like")) {
    const TomlValue value{*like, place_of(*like, file) + ": like"};
    const auto base = std::ranges::find(above, like->value_or(std::string_view()), &Mix::name);
    if (base == above.end()) return value.refuse("the name of a mix above");
    mix = *base;
  }
  mix.name.clear();
  for (const auto& [name, node] : table) {
    const TomlValue value{node, place_of(node, file) + ": " + shown(name.str())};
    if (name.str() == "like") continue;
    auto done = name.str() == "name" ? put(mix.name, value.text())
                                     : set_key(mix, name.str(), value, workloads);
    if (!done) return std::unexpected(done.error());
  }
  const auto is_it = [&](const Mix& other) { return other.name == mix.name; };
  if (mix.name.empty()) return fail(ErrorCode::BadData, where + ": a mix needs a name");
  if (table.contains("workloads") && table.contains("sizes")) {
    return fail(ErrorCode::BadData, where + ": a mix has workloads or sizes, not both");
  }
  if (std::ranges::any_of(above, is_it)) {
    return fail(ErrorCode::BadData, where + ": there is a mix '" + shown(mix.name) + "' above");
  }
  if (auto done = check_users(mix, where); !done) return std::unexpected(done.error());
  return mix;
}

/// What stands behind `=` as TOML: a word gets its quotes.
std::string as_toml(std::string_view key_and_value) {
  const std::size_t equals = std::min(key_and_value.find('='), key_and_value.size());
  const std::string_view value = key_and_value.substr(std::min(equals + 1, key_and_value.size()));
  const bool plain = value.empty() ||
                     value.find_first_of("\"'{}[]\n\\") != std::string_view::npos ||
                     (value.front() >= '0' && value.front() <= '9');
  if (plain) return std::string(key_and_value);
  return std::string(key_and_value.substr(0, equals)) + "=\"" + std::string(value) + "\"";
}

}  // namespace

Expected<std::vector<Workload>> read_workloads(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const WorkloadColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  std::vector<Workload> workloads;
  for (;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    Row row(*csv);
    Workload workload = workload_of(row, columns);
    if (index_of(workload.name, workloads)) row.refuse(columns.name, "a name not yet used");
    if (row.error()) return std::unexpected(*row.error());
    workloads.push_back(std::move(workload));
  }
  if (workloads.empty()) return fail(ErrorCode::BadData, std::string(file) + ": no workloads");
  return workloads;
}

Expected<std::vector<Mix>> read_mixes(std::string_view text, std::string_view file,
                                      std::span<const Workload> workloads) {
  const auto parsed = parse_toml(text, file);
  if (!parsed) return std::unexpected(parsed.error());
  for (const auto& [name, node] : *parsed) {
    if (name.str() == "mix") continue;
    return fail(ErrorCode::BadData, place_of(node, file) + ": " + shown(name.str()) +
                                        ": unknown key; valid keys: [[mix]]");
  }
  const toml::array* const tables = (*parsed)["mix"].as_array();
  if (tables == nullptr || tables->empty()) {
    return fail(ErrorCode::BadData, std::string(file) + ": no [[mix]] table");
  }
  std::vector<Mix> mixes;
  for (const toml::node& node : *tables) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      return fail(ErrorCode::BadData, place_of(node, file) + ": mix: must be [[mix]] tables");
    }
    auto mix = mix_of(*table, file, mixes, workloads);
    if (!mix) return std::unexpected(mix.error());
    mixes.push_back(std::move(*mix));
  }
  return mixes;
}

Expected<void> change(Mix& mix, std::string_view key_and_value,
                      std::span<const Workload> workloads) {
  const std::string where = "'" + shown(key_and_value) + "'";
  const auto parsed = parse_toml(as_toml(key_and_value), where);
  if (!parsed || parsed->size() != 1) {
    return fail(ErrorCode::BadData, where + ": expected KEY=VALUE with one of " + known_mix_keys());
  }
  Mix changed = mix;
  for (const auto& [name, node] : *parsed) {
    const TomlValue value{node, where + ": " + shown(name.str())};
    auto done = set_key(changed, name.str(), value, workloads);
    if (done) done = check_users(changed, where);
    if (!done) return done;
  }
  mix = std::move(changed);
  return {};
}

}  // namespace berth::trace
