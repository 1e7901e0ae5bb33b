#include "cli/tell/own_zone.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "core/text/text.hpp"

namespace berth::cli {

namespace {

bool has_form(std::string_view text, std::string_view form) {
  if (text.size() < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == 'd' ? !is_digit(text[i]) : text[i] != form[i]) return false;
  }
  return true;
}

int two_digits(std::string_view text, std::size_t at) {
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

/// A time with its zone, at the beginning of a text.
struct ZonedTime {
  std::size_t size = 0;  ///< Of its text; 0: there is none.
  bool has_seconds = false;
  std::time_t at = 0;
};

ZonedTime zoned_time(std::string_view text) {
  constexpr std::string_view kMinutes = "dddd-dd-dd dd:dd";
  constexpr std::string_view kZone = "dddd";
  if (!has_form(text, kMinutes)) return {};
  const bool has_seconds = has_form(text.substr(kMinutes.size()), ":dd");
  const std::size_t bare = kMinutes.size() + (has_seconds ? 3 : 0);
  const std::string_view zone = text.substr(bare);
  const bool has_zone =
      (zone.starts_with(" +") || zone.starts_with(" -")) && has_form(zone.substr(2), kZone);
  if (!has_zone) return {};
  std::tm parts{};
  parts.tm_year = two_digits(text, 0) * 100 + two_digits(text, 2) - 1900;
  parts.tm_mon = two_digits(text, 5) - 1;
  parts.tm_mday = two_digits(text, 8);
  parts.tm_hour = two_digits(text, 11);
  parts.tm_min = two_digits(text, 14);
  parts.tm_sec = has_seconds ? two_digits(text, 17) : 0;
  const int ahead = (two_digits(zone, 2) * 60 + two_digits(zone, 4)) * 60;
  return {.size = bare + 2 + kZone.size(),
          .has_seconds = has_seconds,
          .at = timegm(&parts) - (zone[1] == '-' ? -ahead : ahead)};
}

std::string on_clock_of_here(const ZonedTime& time, double now) {
  constexpr double kNear = 12.0 * 3600;
  const bool is_near = std::abs(static_cast<double>(time.at) - now) < kNear;
  std::tm parts{};
  localtime_r(&time.at, &parts);
  std::array<char, 64> text{};
  const char* const form = is_near            ? (time.has_seconds ? "%H:%M:%S" : "%H:%M")
                           : time.has_seconds ? "%Y-%m-%d %H:%M:%S"
                                              : "%Y-%m-%d %H:%M";
  std::strftime(text.data(), text.size(), form, &parts);
  return text.data();
}

}  // namespace

std::string in_own_zone(std::string_view text, double now) {
  std::string own;
  while (!text.empty()) {
    const ZonedTime time = zoned_time(text);
    if (time.size > 0) {
      own += on_clock_of_here(time, now);
    } else {
      own += text.front();
    }
    text.remove_prefix(time.size > 0 ? time.size : 1);
  }
  return own;
}

}  // namespace berth::cli
