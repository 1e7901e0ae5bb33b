// Sizes, durations and GPU lists as people write them.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"

namespace berth::emu {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 5> kSizes{
    {{"t", 1ULL << 40}, {"g", 1ULL << 30}, {"m", 1ULL << 20}, {"k", 1ULL << 10}, {"", 1}}};
constexpr std::array<Unit, 7> kTimes{{{"ns", 1},
                                      {"us", 1000},
                                      {"ms", 1000000},
                                      {"s", 1000000000},
                                      {"", 1000000000},
                                      {"m", 60000000000},
                                      {"h", 3600000000000}}};

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (auto& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

/// Text as number times unit; nullopt-like 0 factor is never in a table.
template <std::size_t N>
Outcome<std::uint64_t> scaled(std::string_view text, const std::array<Unit, N>& units,
                              std::string_view suffix) {
  constexpr double kLargest = 9.0e18;
  double value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const auto quoted = "'" + std::string(text) + "'";
  if (parsed.ec != std::errc{}) return std::unexpected(quoted + " does not begin with a number");
  for (const auto& unit : units) {
    if (suffix != unit.name) continue;
    const auto result = value * static_cast<double>(unit.factor);
    if (!(result >= 0 && result <= kLargest)) return std::unexpected(quoted + " is out of range");
    return static_cast<std::uint64_t>(std::llround(result));
  }
  return std::unexpected(quoted + " has no unit known here");
}

std::string_view unit_of(std::string_view lower) {
  const auto start = lower.find_first_not_of("0123456789.-");
  return start == std::string_view::npos ? std::string_view{} : lower.substr(start);
}

}  // namespace

Outcome<std::uint64_t> parse_bytes(std::string_view text) {
  const auto lower = lowered(text);
  auto unit = unit_of(lower);
  if (unit.ends_with("ib")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("b")) {
    unit.remove_suffix(1);
  }
  return scaled(text, kSizes, unit);
}

Outcome<std::uint64_t> parse_nanoseconds(std::string_view text) {
  const auto lower = lowered(text);
  return scaled(text, kTimes, unit_of(lower));
}

Outcome<std::vector<std::uint64_t>> parse_gpus(std::string_view text) {
  std::vector<std::uint64_t> gpus;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = rest.find(',');
    const auto group = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto times = group.find('x');
    std::uint32_t count = 0;
    const auto parsed = std::from_chars(group.data(), group.data() + group.size(), count);
    if (times == std::string_view::npos || parsed.ptr != group.data() + times || count == 0 ||
        count > kMaxGpus) {
      return std::unexpected("'" + std::string(group) + "' is not a number from 1 to " +
                             std::to_string(kMaxGpus) + ", an x and a size, as in 2x24GiB");
    }
    const auto bytes = parse_bytes(group.substr(times + 1));
    if (!bytes) return std::unexpected(bytes.error());
    gpus.insert(gpus.end(), count, *bytes);
  }
  if (gpus.empty()) return std::unexpected("'' names no GPU, as 2x24GiB does");
  return gpus;
}

Outcome<std::uint32_t> parse_percent(std::string_view text) {
  constexpr std::uint32_t kMost = 1000;
  std::uint32_t percent = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error == std::errc{} && std::string_view(stop, end) == "%" && percent <= kMost) {
    return percent;
  }
  return std::unexpected("'" + std::string(text) + "' is not a whole percentage from 0% to " +
                         std::to_string(kMost) + "%");
}

Outcome<Spec> parse_machine(std::string_view text) {
  constexpr std::string_view kInterference = ",interference=";
  constexpr std::string_view kNoCheckpoints = ",checkpoints=no";
  Spec spec;
  if (text.ends_with(kNoCheckpoints)) {
    text.remove_suffix(kNoCheckpoints.size());
    spec.has_checkpoints = false;
  }
  const auto at = text.find(kInterference);
  if (at != std::string_view::npos) {
    const auto percent = parse_percent(text.substr(at + kInterference.size()));
    if (!percent) return std::unexpected("interference: " + percent.error());
    spec.interference_percent = *percent;
  }
  auto gpus = parse_gpus(text.substr(0, at));
  if (!gpus) return std::unexpected(gpus.error());
  spec.gpu_bytes = std::move(*gpus);
  return spec;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<Unit, 4> kUnits{
      {{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};
  for (const auto& unit : kUnits) {
    if (bytes < unit.factor) continue;
    char text[48];
    const auto value = static_cast<double>(bytes) / static_cast<double>(unit.factor);
    const int decimals = bytes % unit.factor == 0 ? 0 : 2;
    std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit.name.data());
    return text;
  }
  return "0 B";
}

}  // namespace berth::emu
