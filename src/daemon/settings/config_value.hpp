// A value of berthd's configuration file, and how each type of option is read from it.
#pragma once

#include <sys/types.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/amounts.hpp"
#include "core/text/words.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/settings/config.hpp"

namespace berth::daemon {

/// Whether the file may have it above the first table.
bool is_config_key(std::string_view name);

/// `FILE:LINE:COLUMN`
inline std::string place_of(const toml::node& node, const std::string& file) {
  const toml::source_position at = node.source().begin;
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

struct ConfigValue {
  const toml::node& node;
  std::string file;
  std::string name;  ///< The key, with its tables: `users.alice.jobs`.
  /// Takes what names somebody who is gone: a deleted user must not keep berthd from starting.
  std::vector<std::string>& warnings;
  ConfigRange range = {};

  /// `FILE:LINE:COLUMN: KEY`, for messages.
  std::string where() const { return place_of(node, file) + ": " + name; }
  std::unexpected<Error> refuse(const std::string& wanted) const {
    return fail(ErrorCode::InvalidArgument, where() + ": " + wanted);
  }
  void warn_of(const std::string& gone) const {
    warnings.push_back(where() + ": there is no " + gone + "; left out");
  }
  /// Of an entry of a table of users or groups that there are not: a key that stands in the wrong
  /// table is a mistake, a user who is gone is none.
  Expected<void> left_out(const std::string& key, const std::string& what) const {
    if (is_config_key(key)) return refuse("is a key of its own; it stands above the first table");
    warn_of("such " + what);
    return {};
  }
  /// What to say of a table in place of a value: `[users.ann.smith]` is one in that of `ann`. ""
  /// for a value.
  std::string_view way_of_dots() const {
    return node.is_table() ? "; a name with a dot needs quotes, as \"ann.smith\"" : "";
  }
  std::optional<std::string> text() const { return node.value_exact<std::string>(); }
  /// Calls `read` with the key and the value of each entry, until one is refused.
  template <class Read>
  Expected<void> each_entry(const std::string& wanted, Read read) const {
    const toml::table* const table = node.as_table();
    if (table == nullptr) return refuse(wanted);
    for (const auto& [key, of] : *table) {
      const std::string inner(key.str());
      // A number in a table is a limit of users.
      const ConfigValue entry{of, file, name + "." + inner, warnings, {0, kMostUserLimit}};
      if (auto done = read(inner, entry); !done) return done;
    }
    return {};
  }
  /// Replaces the target by what `one` makes of each element, if it makes something of all.
  template <class List, class One>
  Expected<void> into_list(List& target, const std::string& wanted, One one) const {
    const toml::array* const list = node.as_array();
    if (list == nullptr) return refuse(wanted);
    List all;
    for (const toml::node& each : *list) {
      auto element = one(each);
      if (!element) return refuse(wanted);
      all.insert(all.end(), std::move(*element));
    }
    target = std::move(all);
    return {};
  }
  /// Adds the numbers of the names in a list. `what` says of what they are names: "user".
  template <class Number>
  Expected<void> into_numbers(std::set<Number>& target, const std::string& wanted,
                              const std::string& what) const {
    std::vector<std::string> names;
    if (auto done = into_list(names, wanted, word_in); !done) return done;
    for (const std::string& one : names) {
      const auto number = what == "user" ? number_of_user(one) : number_of_group(one);
      if (number) target.insert(Number(*number));
      if (!number) warn_of(std::string(what).append(" ").append(one));
    }
    return {};
  }
  static std::optional<std::string> word_in(const toml::node& node) {
    auto word = node.value_exact<std::string>();
    return word && word->empty() ? std::nullopt : word;
  }

  Expected<void> into(std::string& target) const { return put(target, text(), "must be a string"); }
  Expected<void> into(bool& target) const {
    return put(target, node.value_exact<bool>(), "must be true or false");
  }
  Expected<void> into(Duration& target) const {
    const std::string typed = text().value_or("");
    const bool has_unit = typed.find_first_not_of("0123456789") != typed.npos;
    if (!has_unit && !typed.empty() && typed != "0") {
      return refuse("must have its unit, as \"" + typed + "s\", \"" + typed + "min\" or \"" +
                    typed + "d\"");
    }
    return amount(target, parse_duration, "must be a duration such as \"10s\"");
  }
  Expected<void> into(Bytes& target) const {
    return amount(target, parse_size, "must be a size such as \"512MiB\"");
  }
  template <class Number>
    requires std::integral<Number> || std::same_as<Number, GpuCount>
  Expected<void> into(Number& target) const {
    const auto number = node.value_exact<std::int64_t>();
    if (!number || *number < range.least || *number > range.most) {
      return refuse("must be a number from " + std::to_string(range.least) + " to " +
                    std::to_string(range.most));
    }
    target = static_cast<Number>(*number);
    return {};
  }
  Expected<void> into(CpuMilli& target) const {
    const auto cores = node.value<double>();
    if (!cores || !(*cores >= 0 && *cores <= static_cast<double>(range.most))) {
      return refuse("must be a number of cores from 0 to " + std::to_string(range.most));
    }
    target = CpuMilli(std::llround(std::ceil(*cores * 1000)));
    return {};
  }
  Expected<void> weight_into(std::int64_t& milli) const {
    const auto weight = node.value<double>();
    if (!weight || !(*weight >= 0.001 && *weight <= 100'000)) {
      return refuse(std::string("must be a weight from 0.001 to 100000").append(way_of_dots()));
    }
    milli = std::llround(*weight * 1000);
    return {};
  }
  template <class Enum>
    requires requires { words_of(Enum{}); }
  Expected<void> into(Enum& target) const {
    std::string word;
    if (auto done = into(word); !done) return done;
    const auto known = parse_word<Enum>("", word);
    if (!known) return refuse(known.error().message);
    target = *known;
    return {};
  }

  /// Words by which programs say that GPU memory ran out.
  Expected<void> into(std::vector<std::string>& target) const {
    const auto one = [](const toml::node& of) {
      const auto words = of.value_exact<std::string>();
      const auto stars = words ? std::ranges::count(*words, '*') : 0;
      const bool fits = words && std::ssize(*words) >= 4 + stars && words->size() <= 200 &&
                        words->find('\n') == std::string::npos;
      return fits ? words : std::nullopt;
    };
    const std::string wanted =
        "must be a list of at most 100 texts of 4 to 200 characters, each of "
        "one line, as [\"mylib: no device memory\"]";
    auto done = into_list(target, wanted, one);
    return target.size() > 100 ? refuse(wanted) : done;
  }
  /// Watching is part of `guarantee`, so it is in every list.
  Expected<void> into(std::vector<Rung>& target) const {
    if (!node.is_array()) return refuse("must be a list, such as [\"driver\", \"watch\"]");
    const auto one = [](const toml::node& of) {
      const auto rung = from_word<Rung>(word_in(of).value_or(""));
      return rung == Rung::Driver || rung == Rung::Watch ? rung : std::nullopt;
    };
    auto done = into_list(target, "must have driver and watch, or watch alone", one);
    const bool is_ladder =
        target == std::vector{Rung::Driver, Rung::Watch} || target == std::vector{Rung::Watch};
    if (!done || is_ladder) return done;
    return refuse("must have driver and watch, in this order, or watch alone");
  }
  Expected<void> into(std::vector<HostLimit>& target) const {
    const auto one = [](const toml::node& of) {
      return from_word<HostLimit>(word_in(of).value_or(""));
    };
    return into_list(target, "must be a list of memory, cores and processes, such as [\"memory\"]",
                     one);
  }
  Expected<void> into(std::vector<live::Occasion>& target) const {
    const std::string wanted =
        "must be a list of start, end, fail, idle and overuse, such as [\"end\"]";
    std::vector<std::string> words;
    if (auto done = into_list(words, wanted, word_in); !done) return done;
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
    const auto occasions = live::parse_occasions(all);
    if (!occasions) return refuse(wanted);
    target = *occasions;
    return {};
  }
  Expected<void> into(std::set<GpuId>& target) const {
    const auto one = [](const toml::node& of) -> std::optional<GpuId> {
      const std::int64_t index = of.value_exact<std::int64_t>().value_or(-1);
      if (index < 0 || index > 65535) return std::nullopt;
      return GpuId(static_cast<std::uint32_t>(index));
    };
    return into_list(target, "must be a list of indices of GPUs, such as [0]", one);
  }
  Expected<void> into(std::set<UserId>& target) const {
    return into_numbers(target, "must be a list of users, such as [\"alice\"]", "user");
  }
  Expected<void> into(std::set<gid_t>& target) const {
    return into_numbers(target, "must be a list of unix groups, such as [\"gpu-jobs\"]", "group");
  }
  /// Users, and groups as `@NAME`.
  Expected<void> into(NamedUsers& target) const {
    const std::string wanted = "must be a list of users and @groups, such as [\"alice\", \"@ops\"]";
    std::vector<std::string> names;
    if (auto done = into_list(names, wanted, word_in); !done) return done;
    for (const std::string& one : names) {
      const bool is_group = one.starts_with('@');
      const auto number = is_group ? number_of_group(one.substr(1)) : number_of_user(one);
      if (number) (is_group ? target.groups : target.users).insert(*number);
      if (!number) warn_of(is_group ? "group " + one.substr(1) : "user " + one);
    }
    return {};
  }
  /// Weights by the names or numbers of users.
  Expected<void> into(std::map<UserId, std::int64_t>& target) const {
    const auto read = [&](const std::string& of, const ConfigValue& entry) {
      const auto user = number_of_user(of);
      if (!user && !entry.node.is_table()) return entry.left_out(of, "user");
      return entry.weight_into(target[UserId(user.value_or(0))]);
    };
    return each_entry("must be a table of users and weights", read);
  }
  Expected<void> into(OwnLimits& target) const {
    const auto read = [&](const std::string& key, const ConfigValue& entry) -> Expected<void> {
      if (key == "gpus") return entry.into(target.gpus.emplace());
      if (key == "jobs") return entry.into(target.jobs.emplace());
      if (key == "weight") return entry.weight_into(target.weight_milli.emplace());
      if (key == "share") return entry.into(target.share.emplace());
      if (key == "submit") return entry.into(target.submit.emplace());
      if (key != "logs") {
        return entry.refuse(
            std::string("unknown key; valid keys: gpus, jobs, logs, share, submit, weight")
                .append(entry.way_of_dots()));
      }
      target.logs = Bytes(0);
      return entry.text() == "none" ? Expected<void>() : entry.into(*target.logs);
    };
    return each_entry("must be a table of gpus, jobs, logs, share, submit and weight", read);
  }

 private:
  template <class T>
  Expected<void> put(T& target, const std::optional<T>& given, const std::string& wanted) const {
    if (!given) return refuse(wanted);
    target = *given;
    return {};
  }
  template <class Amount>
  Expected<void> amount(Amount& target, Expected<Amount> (*parse)(std::string_view),
                        const std::string& wanted) const {
    const auto given = text();
    if (!given) return refuse(wanted);
    const auto parsed = parse(*given);
    if (!parsed) return refuse("'" + *given + "' " + parsed.error().message);
    const std::string least(range.least_amount);
    if (!least.empty() && *parsed < *parse(least)) return refuse("must be at least " + least);
    target = *parsed;
    return {};
  }
};

}  // namespace berth::daemon
