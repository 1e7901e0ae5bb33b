// Options that give something by type of GPU: `VALUE`, or `TYPE=VALUE` with commas between.
#pragma once

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "sim/named_values.hpp"

namespace berth::sim {

/// A number from 0 to `most`, with decimals or without.
inline std::optional<double> number_up_to(std::string_view text, double most) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

/// By type; "" for a value that names none. Returns: nothing if a part of it is not as said above,
/// or a type comes twice.
template <class Value, class Read>
std::optional<std::map<std::string, Value>> parse_by_type(std::string_view text, Read read) {
  std::map<std::string, Value> values;
  const bool good = each_named_value(text, [&](std::string_view type, std::string_view part) {
    const std::optional<Value> value = read(part);
    return value && values.emplace(type, *value).second;
  });
  return good ? std::optional(std::move(values)) : std::nullopt;
}

/// Errors: InvalidArgument naming the option and a type that no GPU of the cluster has.
template <class Value>
Expected<void> check_types(std::string_view option, const std::map<std::string, Value>& values,
                           const Cluster& cluster) {
  const auto& types = cluster.type_names();
  for (const auto& [type, value] : values) {
    if (type.empty() || std::ranges::find(types, type) != types.end()) continue;
    std::string known;
    for (const std::string& name : types) known += (known.empty() ? "" : ", ") + name;
    return fail(ErrorCode::InvalidArgument, std::string(option)
                                                .append(": the cluster has no GPU of type '")
                                                .append(type)
                                                .append("'; its types: ")
                                                .append(known));
  }
  return {};
}

/// Its own value, else that of all others; null if there is none.
template <class Value>
const Value* of_type(const std::map<std::string, Value>& values, const std::string& type) {
  auto found = values.find(type);
  if (found == values.end()) found = values.find("");
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace berth::sim
