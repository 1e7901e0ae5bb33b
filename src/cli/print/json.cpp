#include "cli/print/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "cli/print/characters.hpp"

namespace berth::cli {

namespace {

std::optional<std::int64_t> integer(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Only texts hold such characters, where an escape means the same.
std::string with_escapes(std::string whole) {
  const auto is_safe = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };
  if (std::ranges::all_of(whole, is_safe)) return whole;
  std::string_view json = whole;
  std::string text;
  while (!json.empty()) {
    const Character next = first_character(json);
    const bool is_escaped = next.code && *next.code != U'\n' && is_unsafe(*next.code);
    std::array<char, 8> escape{};
    if (is_escaped) {
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(*next.code));
    }
    text.append(is_escaped ? escape.data() : json.substr(0, next.bytes));
    json.remove_prefix(next.bytes);
  }
  return text;
}

}  // namespace

std::optional<Json> parse_json(std::string_view text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

const Json& part_of(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = part_of(object, key);
  return value.is_string() ? value.get_ref<const std::string&>() : std::string();
}

std::optional<std::int64_t> integer_of(const Json& object, const char* key) {
  return integer(part_of(object, key));
}

std::optional<double> number_of(const Json& object, const char* key) {
  const Json& value = part_of(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool is_set(const Json& object, const char* key) {
  const Json& value = part_of(object, key);
  return value.is_boolean() && value.get<bool>();
}

std::string json_text(const Json& value) {
  return with_escapes(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth::cli
