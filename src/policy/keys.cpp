#include "policy/keys.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "core/base/assert.hpp"
#include "core/text/amounts.hpp"
#include "core/text/text.hpp"

namespace berth {

namespace {

constexpr std::size_t kMostEnds = 64;

/// `90s`, `5m`, `7d`; as parse_duration() takes it, but for `0`.
std::string duration_text(std::int64_t time) {
  constexpr auto kUnits = std::to_array<std::pair<std::int64_t, char>>(
      {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}});
  if (time == 0) return "0";
  for (const auto& [seconds_of, letter] : kUnits) {
    const std::int64_t unit = seconds_of * micros(seconds(1));
    if (time % unit == 0) return std::to_string(time / unit) + letter;
  }
  return seconds_text(Duration(time)) + "s";
}

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "0";
  std::string text = to_text(Bytes(bytes));
  std::erase(text, ' ');
  return text;
}

std::string thousandths_text(std::int64_t thousandths) { return cores_text(CpuMilli(thousandths)); }

std::string value_text(KeyType type, std::int64_t value) {
  switch (type) {
    case KeyType::Time:
      return duration_text(value);
    case KeyType::Size:
      return size_text(value);
    case KeyType::Factor:
      return thousandths_text(value);
    case KeyType::Count:
    case KeyType::Percent:
    case KeyType::Service:
    case KeyType::Cells:
      return std::to_string(value);
  }
  return "";
}

std::optional<std::int64_t> one_value(const Key& key, std::string_view text) {
  const auto is_zero = text == "0" || (key.type == KeyType::Time && text == "0s");
  if (is_zero) return 0;
  switch (key.type) {
    case KeyType::Time:
      if (const auto time = parse_duration(text)) return micros(*time);
      return std::nullopt;
    case KeyType::Size:
      if (const auto size = parse_size(text)) return size->raw();
      return std::nullopt;
    case KeyType::Factor:
      if (const auto factor = parse_weight(text)) return *factor;
      return std::nullopt;
    case KeyType::Count:
    case KeyType::Percent:
    case KeyType::Service:
    case KeyType::Cells:
      if (const auto count = parse_count(text, key.most)) return *count;
      return std::nullopt;
  }
  return std::nullopt;
}

/// Nothing if a number is no value of this key, or a user is there twice or without cells.
std::optional<std::vector<std::int64_t>> owned_cells(const Key& key, std::string_view text) {
  constexpr Key kUser{"user", KeyType::Count, "", 0, std::numeric_limits<std::uint32_t>::max(), ""};
  std::vector<std::int64_t> values;
  std::set<std::int64_t> users;
  if (text == "none") return values;
  for (const auto owned : std::views::split(text, ':')) {
    std::optional<std::int64_t> user;
    std::size_t cells = 0;
    for (const auto part : std::views::split(owned, '/')) {
      const std::string_view number(part.begin(), part.end());
      if (!user) {
        user = one_value(kUser, number);
        if (!user || !users.insert(*user).second) return std::nullopt;
        continue;
      }
      const auto gpus = one_value(key, number);
      if (!gpus || *gpus < key.least || *gpus > key.most) return std::nullopt;
      values.insert(values.end(), {*user, *gpus});
      ++cells;
    }
    if (cells == 0) return std::nullopt;
  }
  return values.empty() ? std::nullopt : std::optional(std::move(values));
}

/// Nothing if a number is no value of this key, or a list does not rise.
std::optional<std::vector<std::int64_t>> values_of(const Key& key, std::string_view text) {
  if (key.type == KeyType::Cells) return owned_cells(key, text);
  std::vector<std::int64_t> values;
  for (bool is_last = false; !is_last;) {
    const std::size_t colon = key.type == KeyType::Service ? text.find(':') : text.npos;
    is_last = colon == std::string_view::npos;
    const auto value = one_value(key, text.substr(0, colon));
    const bool in_range = value && *value >= key.least && *value <= key.most;
    if (!in_range || (!values.empty() && *value <= values.back()) || values.size() == kMostEnds) {
      return std::nullopt;
    }
    values.push_back(*value);
    if (!is_last) text.remove_prefix(colon + 1);
  }
  return values;
}

std::string wanted(const Key& key) {
  if (key.type == KeyType::Service) {
    return "must be 1 to " + std::to_string(kMostEnds) + " rising numbers of GPU-seconds, each " +
           range_text(key) + ", such as " + std::string(key.usual);
  }
  if (key.type == KeyType::Cells) {
    return "must be none, or USER/GPUS... for each user, joined by ':', each user once, by number, "
           "with the GPUs of each of its cells, " +
           range_text(key) + ", such as 1000/16/8:1001/4";
  }
  return "must be a " + std::string(type_text(key.type)) + " from " + range_text(key) +
         ", such as " + std::string(key.usual);
}

}  // namespace

std::string range_text(const Key& key) {
  return value_text(key.type, key.least) + " to " + value_text(key.type, key.most);
}

std::string_view type_text(KeyType type) {
  switch (type) {
    case KeyType::Time:
      return "duration";
    case KeyType::Count:
      return "count";
    case KeyType::Percent:
      return "percent";
    case KeyType::Factor:
      return "factor";
    case KeyType::Size:
      return "size";
    case KeyType::Service:
      return "GPU-seconds";
    case KeyType::Cells:
      return "cells of users";
  }
  return "";
}

Keys::Keys(std::span<const Key> known) : known_(known) {
  for (const Key& key : known) {
    auto usual = values_of(key, key.usual);
    BERTH_ASSERT(usual.has_value());
    values_.push_back(std::move(*usual));
  }
}

Expected<void> Keys::set(std::string_view name, std::string_view value) {
  const auto key = std::ranges::find(known_, name, &Key::name);
  if (key == known_.end()) {
    std::string valid;
    for (const Key& each : known_) valid.append(valid.empty() ? "" : ", ").append(each.name);
    return fail(ErrorCode::InvalidArgument,
                "unknown key '" + std::string(name) +
                    (valid.empty() ? "'; it has no keys" : "'; valid keys: " + valid));
  }
  auto values = values_of(*key, value);
  if (!values) {
    const bool is_list = value.contains(',') && value.contains('=');
    return fail(ErrorCode::InvalidArgument, std::string(name) + "=" + std::string(value) + ": " +
                                                wanted(*key) +
                                                (is_list ? "; keys are separated by ':'" : ""));
  }
  values_[static_cast<std::size_t>(key - known_.begin())] = std::move(*values);
  return {};
}

bool Keys::has(std::string_view name) const {
  return std::ranges::find(known_, name, &Key::name) != known_.end();
}

std::span<const std::int64_t> Keys::list(std::string_view name) const {
  const auto key = std::ranges::find(known_, name, &Key::name);
  BERTH_ASSERT(key != known_.end());
  return values_[static_cast<std::size_t>(key - known_.begin())];
}

}  // namespace berth
