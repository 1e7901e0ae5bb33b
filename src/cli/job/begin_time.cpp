#include "cli/job/begin_time.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "core/base/limits.hpp"
#include "core/text/amounts.hpp"

namespace berth::cli {

namespace {

/// Exactly this form: nothing before, between or behind.
std::optional<std::tm> read_form(const std::string& text, const char* form, std::tm start) {
  const char* const end = ::strptime(text.c_str(), form, &start);
  const bool is_whole = end != nullptr && *end == '\0' && text.find_first_of(" \t") == text.npos;
  return is_whole ? std::optional(start) : std::nullopt;
}

std::optional<Instant> instant_of(std::tm parts) {
  parts.tm_isdst = -1;
  const int day = parts.tm_mday;
  const std::time_t seconds_since = std::mktime(&parts);
  if (seconds_since < 0 || parts.tm_mday != day) return std::nullopt;  // such as 30 February
  return instant_from_micros(std::int64_t{seconds_since} * 1'000'000);
}

std::optional<Instant> clock_or_date(std::string text, Instant now) {
  const std::time_t today = micros(now) / 1'000'000;
  std::tm start{};
  ::localtime_r(&today, &start);
  start.tm_hour = start.tm_min = start.tm_sec = 0;
  for (const char* const form : {"%H:%M", "%H:%M:%S"}) {
    auto parts = read_form(text, form, start);
    if (!parts) continue;
    if (const auto at = instant_of(*parts); at && *at > now) return at;
    ++parts->tm_mday;  // tomorrow; mktime turns the month over
    parts->tm_isdst = -1;
    return instant_from_micros(std::int64_t{std::mktime(&*parts)} * 1'000'000);
  }
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  for (const char* const form : {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"}) {
    if (const auto parts = read_form(text, form, start)) return instant_of(*parts);
  }
  return std::nullopt;
}

/// How to write what people write elsewhere; "" where that is not known.
std::string time_meant(std::string_view text) {
  const bool has_words = text.find_first_of("0123456789") == text.npos;
  if (text == "tomorrow") return "; say +1d, or a day and a time";
  if (text == "noon") return "; say 12:00";
  if (text == "midnight") return "; say 00:00";
  if (has_words) return "";
  if (text.ends_with("am") || text.ends_with("pm") || text.ends_with("AM") ||
      text.ends_with("PM")) {
    return "; hours go up to 23: 10pm is 22:00";
  }
  const bool is_date = text.find_first_not_of("0123456789./") == text.npos;
  return is_date ? "; a day is written year first, as 2026-11-24, and a time with a colon, as 22:00"
                 : "";
}

}  // namespace

Instant this_instant() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return kStart + std::chrono::duration_cast<Duration>(since);
}

Expected<Instant> parse_begin(std::string_view text, Instant now) {
  std::string_view rest = text.starts_with("now+") ? text.substr(3) : text;
  const bool is_from_now = rest.starts_with('+');
  if (is_from_now) rest.remove_prefix(1);
  const bool is_clock = !is_from_now && rest.find_first_of(":-") != rest.npos;
  if (!is_from_now && !rest.empty() && rest.find_first_not_of("0123456789") == rest.npos) {
    const std::string typed(rest);
    return fail(ErrorCode::InvalidArgument,
                "is an hour or a time to wait; say " + typed + ":00 or +" + typed + "s");
  }
  std::optional<Instant> at;
  const bool has_unit = rest.find_first_not_of("0123456789./") != rest.npos;
  if (is_clock) {
    at = clock_or_date(std::string(rest), now);
  } else if (const auto wait = parse_duration(rest); wait && (has_unit || is_from_now)) {
    at = now + *wait;
  }
  if (!at) {
    return fail(
        ErrorCode::InvalidArgument,
        "is not a time such as +2h, 22:00, 2026-11-24 or 2026-11-24T22:00" + time_meant(rest));
  }
  if (*at <= now) return fail(ErrorCode::InvalidArgument, "is over");
  if (*at > limits::kLastInstant) {
    return fail(ErrorCode::InvalidArgument, "is after the last time of all, 2200-01-01 UTC");
  }
  return *at;
}

}  // namespace berth::cli
