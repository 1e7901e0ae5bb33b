#include "trace/toml_value.hpp"

#include <cmath>

#include "core/text/toml_bytes.hpp"

namespace berth::trace {

Expected<toml::table> parse_toml(std::string_view text, std::string_view file) {
  if (auto fit = check_toml_bytes(text, file); !fit) return std::unexpected(fit.error());
  toml::parse_result parsed = toml::parse(text, file);
  if (parsed) return std::move(parsed).table();
  const toml::source_position at = parsed.error().source().begin;
  return fail(ErrorCode::BadData, std::string(file) + ":" + std::to_string(at.line) + ":" +
                                      std::to_string(at.column) + ": " +
                                      std::string(parsed.error().description()));
}

std::string place_of(const toml::node& node, std::string_view file) {
  const toml::source_position at = node.source().begin;
  return std::string(file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

Expected<std::int64_t> TomlValue::number(std::int64_t least, std::int64_t most) const {
  const auto value = node.value_exact<std::int64_t>();
  if (value && *value >= least && *value <= most) return *value;
  return refuse("a number from " + std::to_string(least) + " to " + std::to_string(most));
}

Expected<std::int64_t> TomlValue::thousandths(std::int64_t least, std::int64_t most) const {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  const bool fits =
      value && *value >= static_cast<double>(least) && *value <= static_cast<double>(most);
  if (fits) return std::llround(*value * 1000);
  return refuse("a number from " + std::to_string(least) + " to " + std::to_string(most));
}

Expected<std::string> TomlValue::text() const {
  auto value = node.value_exact<std::string>();
  if (value && !value->empty()) return std::move(*value);
  return refuse("a string that is not empty");
}

}  // namespace berth::trace
