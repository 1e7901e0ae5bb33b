// JSON: a tree of values, and text that is written straight, for lists of jobs: a tree first would
// cost ten times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/time.hpp"

namespace berth::daemon {

using Json = nlohmann::json;

/// How much of the text's beginning stands for itself between quotes: printable ASCII without
/// escapes.
std::size_t plain_size(std::string_view text);

/// Appends `"text"`; bytes that are no UTF-8 are replaced.
void append_json(std::string& out, std::string_view text);

/// One object at the end of a text: fields in the order they are given, then close().
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  /// Keys are ours: nothing in them needs an escape.
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& integer(std::string_view key, std::int64_t value);
  JsonObject& boolean(std::string_view key, bool value);
  JsonObject& null(std::string_view key);
  /// Text that is JSON already.
  JsonObject& raw(std::string_view key, std::string_view json);
  /// Seconds, exact to the microsecond; null for kNever and kForever.
  JsonObject& seconds(std::string_view key, Instant at);
  JsonObject& seconds(std::string_view key, Duration duration);
  void close() { out_ += '}'; }

 private:
  void begin(std::string_view key);

  std::string& out_;
  bool is_first_ = true;
};

inline double in_seconds(Duration time) { return static_cast<double>(micros(time)) / 1e6; }

/// `1.5`, `2.0`: so many millionths.
void append_millionths(std::string& out, std::int64_t value);

}  // namespace berth::daemon
