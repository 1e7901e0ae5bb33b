#include "daemon/loop/json_text.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace berth::daemon {

namespace {

constexpr std::uint64_t kMillion = 1'000'000;

/// By byte: a call for each would be half of what it costs to read a request.
constexpr auto kStandsForItself = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = ' '; c <= '~'; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

void append_number(std::string& out, std::int64_t value) {
  std::array<char, 20> digits{};
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), done.ptr);
}

}  // namespace

std::size_t plain_size(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && kStandsForItself[static_cast<unsigned char>(text[size])]) ++size;
  return size;
}

void append_json(std::string& out, std::string_view text) {
  if (plain_size(text) == text.size()) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_millionths(std::string& out, std::int64_t value) {
  if (value < 0) out += '-';
  const std::uint64_t size = value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                                       : static_cast<std::uint64_t>(value);
  append_number(out, static_cast<std::int64_t>(size / kMillion));
  std::array<char, 7> fraction = {'.', '0', '0', '0', '0', '0', '0'};
  std::uint64_t rest = size % kMillion;
  for (std::size_t i = fraction.size() - 1; i > 0; --i, rest /= 10) {
    fraction[i] = static_cast<char>('0' + rest % 10);
  }
  std::size_t length = fraction.size();
  while (length > 2 && fraction[length - 1] == '0') --length;
  out.append(fraction.data(), length);
}

void JsonObject::begin(std::string_view key) {
  if (!is_first_) out_ += ',';
  is_first_ = false;
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json(out_, value);
  return *this;
}

JsonObject& JsonObject::integer(std::string_view key, std::int64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

JsonObject& JsonObject::null(std::string_view key) { return raw(key, "null"); }

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  begin(key);
  out_ += json;
  return *this;
}

JsonObject& JsonObject::seconds(std::string_view key, Instant at) {
  if (at == kNever) return null(key);
  begin(key);
  append_millionths(out_, micros(at));
  return *this;
}

JsonObject& JsonObject::seconds(std::string_view key, Duration duration) {
  if (duration == kForever) return null(key);
  begin(key);
  append_millionths(out_, micros(duration));
  return *this;
}

}  // namespace berth::daemon
