#include "core/amounts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace berth {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostSeconds = std::int64_t{3650} * 86400;
constexpr std::int64_t kBillion = 1'000'000'000;

/// Digits only: no sign, no exponent.
std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

/// A decimal with at most nine places, in billionths beside the whole part.
struct Decimal {
  std::int64_t whole = 0;
  std::int64_t billionths = 0;

  /// This many of `unit`, rounded down; nothing above `most`.
  std::optional<std::int64_t> times(std::int64_t unit, std::int64_t most) const {
    std::int64_t value = 0;
    if (__builtin_mul_overflow(whole, unit, &value) || value > most) return std::nullopt;
    // In two steps, so that no product is wider than 64 bits.
    value += billionths * (unit / kBillion) + billionths * (unit % kBillion) / kBillion;
    return value > most ? std::nullopt : std::optional(value);
  }
};

std::optional<Decimal> decimal(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto whole = digits(text.substr(0, dot));
  if (!whole) return std::nullopt;
  if (dot == std::string_view::npos) return Decimal{*whole, 0};
  std::string places(text.substr(dot + 1));
  if (places.empty() || places.size() > 9) return std::nullopt;
  places.resize(9, '0');
  const auto billionths = digits(places);
  if (!billionths) return std::nullopt;
  return Decimal{*whole, *billionths};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The text before the first letter, and the rest in small letters.
struct Measured {
  std::string_view number;
  std::string unit;
};

Measured measured(std::string_view text) {
  const auto letter =
      std::ranges::find_if(text, [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; });
  const auto at = static_cast<std::size_t>(letter - text.begin());
  Measured parts{text.substr(0, at), std::string(text.substr(at))};
  std::ranges::transform(parts.unit, parts.unit.begin(), lower);
  return parts;
}

struct Unit {
  std::string_view name;
  std::int64_t size;  ///< Bytes, or microseconds.
};

std::optional<std::int64_t> size_unit(std::string_view name) {
  if (name.empty() || name == "b") return 1;
  if (name.size() > 1 && name.substr(1) != "ib") return std::nullopt;
  const std::size_t power = std::string_view("kmgt").find(name.front());
  if (power == std::string_view::npos) return std::nullopt;
  return std::int64_t{1024} << (10 * power);
}

std::optional<std::int64_t> time_unit(std::string_view name) {
  constexpr std::int64_t second = 1'000'000;
  constexpr auto units = std::to_array<Unit>({{"", second},
                                              {"us", 1},
                                              {"ms", 1000},
                                              {"s", second},
                                              {"m", 60 * second},
                                              {"h", 3600 * second},
                                              {"d", 86400 * second}});
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? std::nullopt : std::optional(found->size);
}

/// `1:30:00` and `15:00`, in seconds.
std::optional<std::int64_t> clock_seconds(std::string_view text) {
  std::int64_t total = 0;
  std::size_t fields = 0;
  for (bool more = true; more; ++fields) {
    const std::size_t colon = text.find(':');
    const auto field = digits(text.substr(0, colon));
    if (!field || *field > kMostSeconds || (fields > 0 && *field > 59)) return std::nullopt;
    total = total * 60 + *field;
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
  }
  if (fields < 2 || fields > 3 || total > kMostSeconds) return std::nullopt;
  return total;
}

std::optional<std::int64_t> duration_micros(std::string_view text) {
  constexpr std::int64_t second = 1'000'000;
  if (text.find(':') != std::string_view::npos) {
    const auto whole = clock_seconds(text);
    return whole ? std::optional(*whole * second) : std::nullopt;
  }
  const auto [number, name] = measured(text);
  const auto value = decimal(number);
  const auto unit = time_unit(name);
  if (!value || !unit) return std::nullopt;
  return value->times(*unit, kMostSeconds * second);
}

std::optional<std::int64_t> size_bytes(std::string_view text) {
  const auto [number, name] = measured(text);
  const auto value = decimal(number);
  const auto unit = size_unit(name);
  if (!value || !unit || (*unit == 1 && value->billionths != 0)) return std::nullopt;
  return value->times(*unit, kMostBytes);
}

/// From 0.001 to 100000; 0 for what is not.
std::int64_t thousandths(std::string_view text) {
  const auto value = decimal(text);
  return value ? value->times(1000, 100'000'000).value_or(0) : 0;
}

}  // namespace

Expected<Bytes> parse_size(std::string_view text) {
  const auto bytes = size_bytes(text);
  if (!bytes || *bytes == 0) {
    return fail(ErrorCode::InvalidArgument,
                "is not a size such as 10G, 10GiB, 512M or 1.5G, from 1 byte to 1024T");
  }
  return Bytes(*bytes);
}

Expected<Duration> parse_duration(std::string_view text) {
  const auto time = duration_micros(text);
  if (!time || *time == 0) {
    return fail(
        ErrorCode::InvalidArgument,
        "is not a duration such as 90, 90s, 15m, 4h, 2d or 1:30:00, above 0 and up to 3650d");
  }
  return Duration(*time);
}

bool is_zero_duration(std::string_view text) { return duration_micros(text) == 0; }

Expected<std::int64_t> parse_count(std::string_view text, std::int64_t most) {
  const auto count = digits(text);
  if (!count || *count > most) {
    return fail(ErrorCode::InvalidArgument,
                "is not a whole number from 0 to " + std::to_string(most));
  }
  return *count;
}

Expected<CpuMilli> parse_cores(std::string_view text) {
  const std::int64_t milli = thousandths(text);
  if (milli > 0) return CpuMilli(milli);
  return fail(ErrorCode::InvalidArgument,
              "is not a number of cores such as 0.5 or 16, from 0.001 to 100000");
}

Expected<std::int64_t> parse_weight(std::string_view text) {
  const std::int64_t milli = thousandths(text);
  if (milli > 0) return milli;
  return fail(ErrorCode::InvalidArgument,
              "is not a weight such as 0.5 or 16, from 0.001 to 100000");
}

}  // namespace berth
