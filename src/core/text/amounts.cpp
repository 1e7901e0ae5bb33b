#include "core/text/amounts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/base/limits.hpp"
#include "core/text/text.hpp"

namespace berth {

namespace {

constexpr std::int64_t kMostSeconds = limits::kLongestTime / seconds(1);
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

/// Takes what it begins with of these off the text.
template <class Is>
std::string_view take_while(std::string_view& text, Is is) {
  const auto end = std::ranges::find_if_not(text, is);
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

/// A number, blanks or none, and the unit in small letters.
struct Parts {
  std::string_view number;
  std::string unit;
};

/// Takes one off the text; what cannot be read of it stays there.
Parts take_measured(std::string_view& text) {
  Parts parts;
  parts.number = take_while(text, [](char c) { return is_digit(c) || c == '.'; });
  take_while(text, [](char c) { return c == ' '; });
  parts.unit = take_while(text, is_letter);
  std::ranges::transform(parts.unit, parts.unit.begin(), lowered);
  return parts;
}

/// `k`, `kb` and `kib` are all 1024.
std::optional<std::int64_t> size_unit(std::string_view name) {
  if (name.empty() || name == "b") return 1;
  const std::string_view tail = name.substr(1);
  if (!tail.empty() && tail != "b" && tail != "ib") return std::nullopt;
  const std::size_t power = std::string_view("kmgt").find(name.front());
  if (power == std::string_view::npos) return std::nullopt;
  return std::int64_t{1024} << (10 * power);
}

constexpr std::int64_t kSecond = 1'000'000;

struct TimeUnit {
  std::int64_t size;  ///< In microseconds.
  std::string_view names;
};

std::optional<std::int64_t> time_unit(std::string_view name) {
  constexpr auto units = std::to_array<TimeUnit>({
      {1, " us "},
      {1000, " ms "},
      {kSecond, " s sec secs second seconds "},
      {60 * kSecond, " m min mins minute minutes "},
      {3600 * kSecond, " h hr hrs hour hours "},
      {86400 * kSecond, " d day days "},
      {7 * 86400 * kSecond, " w week weeks "},
  });
  if (name.empty()) return std::nullopt;
  const std::string word = " " + std::string(name) + " ";
  const auto found =
      std::ranges::find_if(units, [&](const TimeUnit& unit) { return unit.names.contains(word); });
  return found == units.end() ? std::nullopt : std::optional(found->size);
}

/// The seconds of `1:30:00` and `15:00`; with days before it the first field is of hours.
std::optional<std::int64_t> clock_seconds(std::string_view text, std::optional<std::int64_t> days) {
  std::int64_t total = 0;
  std::size_t fields = 0;
  for (bool more = true; more; ++fields) {
    const std::size_t colon = text.find(':');
    const auto field = digits(text.substr(0, colon));
    const bool is_first = fields == 0;
    if (!field || *field > (is_first ? kMostSeconds : 59)) return std::nullopt;
    if (is_first && days && *field > 23) return std::nullopt;
    total = total * 60 + *field;
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
  }
  if (fields > 3 || total > kMostSeconds) return std::nullopt;
  if (!days) return fields < 2 ? std::nullopt : std::optional(total);
  for (; fields < 3; ++fields) total *= 60;
  return *days * 86400 + total;
}

/// `1:30:00`, `15:00`, and `1-12`, `1-12:30`, `1-12:30:00`, which begin with days.
std::optional<std::int64_t> clock_micros(std::string_view text) {
  const std::size_t dash = text.find('-');
  std::optional<std::int64_t> days;
  if (dash != std::string_view::npos) {
    days = digits(text.substr(0, dash));
    if (!days || *days > kMostSeconds / 86400) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  const auto whole = clock_seconds(text, days);
  if (!whole || *whole > kMostSeconds) return std::nullopt;
  return *whole * kSecond;
}

/// `90`, and parts from the largest unit to the smallest: `1.5h`, `1h30m`, `2d 4h`.
std::optional<std::int64_t> duration_micros(std::string_view text) {
  if (text.find_first_of(":-") != std::string_view::npos) return clock_micros(text);
  constexpr std::int64_t most = kMostSeconds * kSecond;
  if (const auto plain = decimal(text)) return plain->times(kSecond, most);
  std::int64_t total = 0;
  std::int64_t before = most;
  while (!text.empty()) {
    const auto [number, name] = take_measured(text);
    const auto value = decimal(number);
    const auto unit = time_unit(name);
    if (!value || !unit || *unit >= before) return std::nullopt;
    const auto part = value->times(*unit, most);
    if (!part || *part > most - total) return std::nullopt;
    total += *part;
    before = *unit;
    const bool has_gap = !take_while(text, [](char c) { return c == ' '; }).empty();
    if (has_gap && text.empty()) return std::nullopt;
  }
  return before == most ? std::nullopt : std::optional(total);
}

/// What is wrong with a duration that people write so; "" where nothing is known.
std::string fault_of_duration(std::string_view text) {
  if (text.contains(',')) return "; a point stands before the fraction, as in 1.5h";
  if (text.contains(':')) {
    const std::string_view last = text.substr(text.rfind(':') + 1);
    const auto field = digits(last);
    return field && *field > 59 ? "; minutes and seconds behind a colon go up to 59" : "";
  }
  std::int64_t before = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto [number, name] = take_measured(rest);
    const auto unit = time_unit(name);
    take_while(rest, [](char c) { return c == ' '; });
    if (!decimal(number)) return "";
    if (name.empty()) {
      const bool is_last = rest.empty() && before > 0;
      return is_last ? "; the last number needs a unit, as in 1h30m" : "";
    }
    if (name == "e") return "";  // 1e9
    if (!unit) return "; '" + name + "' is no unit: ms, s, min, h, d or w";
    if (before > 0 && *unit >= before) return "; the larger unit comes first, as in 1h30m";
    before = *unit;
  }
  return "";
}

struct Size {
  std::int64_t bytes = 0;
  bool has_unit = false;
};

std::optional<Size> size_of(std::string_view text) {
  const auto [number, name] = take_measured(text);
  const auto value = decimal(number);
  const auto unit = size_unit(name);
  if (!value || !unit || !text.empty() || (*unit == 1 && value->billionths != 0))
    return std::nullopt;
  const auto bytes = value->times(*unit, limits::kMostMemory.raw());
  return bytes ? std::optional(Size{*bytes, !name.empty()}) : std::nullopt;
}

/// From 0.001 on; 0 for what is not, or more than `most` thousandths.
std::int64_t thousandths(std::string_view text, std::int64_t most) {
  const auto value = decimal(text);
  return value ? value->times(1000, most).value_or(0) : 0;
}

std::string up_to(std::int64_t most_milli) {
  return "from 0.001 to " + std::to_string(most_milli / 1000);
}

}  // namespace

Expected<Bytes> parse_size(std::string_view text) {
  const auto size = size_of(text);
  if (!size || size->bytes == 0) {
    return fail(ErrorCode::InvalidArgument,
                "is not a size such as 10G, 10GiB, 512M or 1.5G, from 1 byte to 1024T");
  }
  // Nobody means a few bytes: who leaves the unit out means another.
  if (!size->has_unit && Bytes(size->bytes) < kLeastPlain) {
    const bool is_small = size->bytes < 1024;
    return fail(ErrorCode::InvalidArgument,
                "is " + std::to_string(size->bytes) + " bytes; say " + std::to_string(size->bytes) +
                    (is_small ? "G or " : "M or ") + std::to_string(size->bytes) +
                    (is_small ? "M" : "K"));
  }
  return Bytes(size->bytes);
}

Expected<Duration> parse_duration(std::string_view text) {
  const auto time = duration_micros(text);
  if (!time || *time == 0) {
    return fail(
        ErrorCode::InvalidArgument,
        "is not a duration such as 90s, 30min, 1h30m, 2d, 1:30:00 or 1-12:00:00, above 0 and "
        "up to 3650d" +
            (time ? "" : fault_of_duration(text)));
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
  const std::int64_t milli = thousandths(text, limits::kMostCores.raw());
  if (milli > 0) return CpuMilli(milli);
  return fail(ErrorCode::InvalidArgument,
              "is not a number of cores such as 0.5 or 16, " + up_to(limits::kMostCores.raw()));
}

Expected<std::int64_t> parse_weight(std::string_view text) {
  const std::int64_t milli = thousandths(text, limits::kMostWeight);
  if (milli > 0) return milli;
  return fail(ErrorCode::InvalidArgument,
              "is not a weight such as 0.5 or 16, " + up_to(limits::kMostWeight));
}

}  // namespace berth
