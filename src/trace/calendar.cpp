#include "trace/calendar.hpp"

#include <time.h>

#include <chrono>
#include <string>

#include "trace/csv.hpp"

namespace berth::trace {

namespace {

/// The number of exactly these digits; nothing for any other character.
std::optional<std::int32_t> digits(std::string_view text) {
  std::int32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<Instant> instant_of(std::chrono::year_month_day day, Duration time_of_day) {
  if (!day.ok()) return std::nullopt;
  const std::chrono::days since_1970 = std::chrono::sys_days(day).time_since_epoch();
  return Instant(std::chrono::duration_cast<Duration>(since_1970) + time_of_day);
}

}  // namespace

namespace {

bool has_shape(std::string_view text, std::string_view shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_digit = shape[i] == 'd' && i < text.size() && text[i] >= '0' && text[i] <= '9';
    if (!is_digit && (shape[i] == 'd' || i >= text.size() || text[i] != shape[i])) return false;
  }
  return text.size() == shape.size();
}

/// `.25` as microseconds; nothing for what does not begin with a point.
std::optional<Duration> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  Duration value(0);
  for (Duration place(100'000); !text.empty() && text.front() >= '0' && text.front() <= '9';
       place /= 10) {
    value += place * (text.front() - '0');
    text.remove_prefix(1);
  }
  return value;
}

/// `Z`, `UTC`, `+08`, `+0800`, `-03:30`: how far the clock is ahead. Nothing for anything else.
std::optional<Duration> zone_offset(std::string_view text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty() || text == "Z" || text == "UTC" || text == "GMT") return Duration(0);
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  if (!has_shape(text, "dd") && !has_shape(text, "dddd") && !has_shape(text, "dd:dd")) {
    return std::nullopt;
  }
  const std::int32_t hour = digits(text.substr(0, 2)).value_or(0);
  const std::int32_t minute =
      text.size() > 2 ? digits(text.substr(text.size() - 2)).value_or(0) : 0;
  if (hour > 23 || minute > 59) return std::nullopt;
  return (hours(hour) + minutes(minute)) * sign;
}

/// The part of a time that has digits: up to its seconds, or to its minutes, as spreadsheets write
/// it. "" for no time.
std::string_view bare_part(std::string_view text) {
  for (const std::string_view shape :
       {"dddd-dd-dd dd:dd:dd", "dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd", "dddd-dd-ddTdd:dd"}) {
    if (has_shape(text.substr(0, shape.size()), shape)) return text.substr(0, shape.size());
  }
  return {};
}

}  // namespace

bool has_zone(std::string_view text) {
  const std::size_t bare = bare_part(text).size();
  return bare > 0 && text.find_first_of("Z+-U", bare) != std::string_view::npos;
}

std::optional<Instant> calendar_instant(std::string_view text) {
  const std::string_view bare = bare_part(text);
  if (bare.empty()) return std::nullopt;
  constexpr std::size_t kAtSeconds = 17;
  std::string_view rest = text.substr(bare.size());
  if (bare.size() < kAtSeconds && rest.starts_with('.')) return std::nullopt;
  const Duration fraction = take_fraction(rest).value_or(Duration(0));
  const auto ahead = zone_offset(rest);
  const auto part = [&](std::size_t from, std::size_t size) {
    return digits(bare.substr(from, size)).value_or(-1);
  };
  const std::int32_t hour = part(11, 2), minute = part(14, 2);
  const std::int32_t second = bare.size() > kAtSeconds ? part(kAtSeconds, 2) : 0;
  if (!ahead || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::chrono::year_month_day day(std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2))));
  return instant_of(day, hours(hour) + minutes(minute) + seconds(second) + fraction - *ahead);
}

std::optional<Instant> instant_by_format(std::string_view text, std::string_view format) {
  if (format == "%s") {
    const auto since_1970 = parse_seconds(text);
    return since_1970 ? std::optional(kStart + *since_1970) : std::nullopt;
  }
  const std::string whole(text);
  std::tm parts{};
  const char* const end = strptime(whole.c_str(), std::string(format).c_str(), &parts);
  if (end == nullptr) return std::nullopt;
  std::string_view rest =
      std::string_view(whole).substr(static_cast<std::size_t>(end - whole.c_str()));
  const Duration fraction = take_fraction(rest).value_or(Duration(0));
  if (!rest.empty()) return std::nullopt;
  const std::chrono::year_month_day day(std::chrono::year(parts.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
                                        std::chrono::day(static_cast<unsigned>(parts.tm_mday)));
  return instant_of(day, hours(parts.tm_hour) + minutes(parts.tm_min) + seconds(parts.tm_sec) +
                             fraction - seconds(parts.tm_gmtoff));
}

}  // namespace berth::trace
