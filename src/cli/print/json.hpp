// JSON of the daemon's, read without trusting it: what is missing or of another type is absent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cli {

using Json = nlohmann::json;

/// Nothing for text that is not JSON.
std::optional<Json> parse_json(std::string_view text);

/// The member, or null.
const Json& part_of(const Json& object, const char* key);
/// "" where there is none.
std::string text_of(const Json& object, const char* key);
std::optional<std::int64_t> integer_of(const Json& object, const char* key);
std::optional<double> number_of(const Json& object, const char* key);
/// False where there is none.
bool is_set(const Json& object, const char* key);

/// As every `--json` prints it: indented by two, with a newline. What may harm a terminal is
/// escaped, so that it means the same and does nothing.
std::string json_text(const Json& value);

}  // namespace berth::cli
