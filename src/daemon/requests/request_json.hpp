// The JSON of requests: a text is parsed once, within bounds, and its values are read by kind.
//
// Pure functions. A value that is wrong is an InvalidArgument which names its key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/label.hpp"
#include "core/base/time.hpp"
#include "core/text/words.hpp"
#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

/// Errors: BadData for what is not a JSON object of at most a few levels.
Expected<Json> parse_object(std::string_view body);

/// `key: what`.
std::unexpected<Error> wrong(const std::string& key, const std::string& what);
/// The value as a message shows it, cut where it is long.
std::string shown_json(const Json& value);

/// Texts are moved out of the value: an environment is most of a request.
Expected<void> read_value(const std::string& key, Json& value, std::string& target);
Expected<void> read_value(const std::string& key, Json& value, Label& target);
Expected<void> read_value(const std::string& key, const Json& value, bool& target);
Expected<void> read_value(const std::string& key, Json& value, std::vector<std::string>& target);
/// A time that somebody states, in seconds since 1970.
Expected<void> read_value(const std::string& key, const Json& value, Instant& target);
template <class Enum>
Expected<void> read_word(const std::string& key, const Json& value, Enum& target) {
  const auto found =
      value.is_string() ? from_word<Enum>(value.get_ref<const std::string&>()) : std::nullopt;
  if (!found) {
    return wrong(key, shown_json(value) + " is unknown; valid values: " + all_words<Enum>());
  }
  target = *found;
  return {};
}

/// A whole number within limits; 1e3 and 4.0 are refused as 4.5 is.
Expected<std::int64_t> integer_in(const std::string& key, const Json& value, std::int64_t least,
                                  std::int64_t most);
/// A number above 0.
Expected<double> real_in(const std::string& key, const Json& value, double most);

/// Errors: more than `most`; `what` is the unit, as ` bytes`.
Expected<void> check_most(const std::string& key, std::size_t count, const char* what,
                          std::size_t most);
Expected<void> check_bytes(const std::string& key, std::size_t size, std::size_t most);

}  // namespace berth::daemon
