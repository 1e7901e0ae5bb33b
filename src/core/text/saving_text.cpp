#include "core/text/saving_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/limits.hpp"
#include "core/text/amounts.hpp"

namespace berth {

namespace {

/// What a program can hear, by its number on Linux; the others stop it or mean something else.
constexpr auto kSignals = std::to_array<std::pair<std::string_view, std::int32_t>>(
    {{"HUP", 1}, {"INT", 2}, {"QUIT", 3}, {"USR1", 10}, {"USR2", 12}, {"ALRM", 14}, {"TERM", 15}});

}  // namespace

Expected<std::int32_t> parse_signal(std::string_view name) {
  const std::string_view plain = name.starts_with("SIG") ? name.substr(3) : name;
  const auto* const found =
      std::ranges::find(kSignals, plain, [](const auto& s) { return s.first; });
  if (found != kSignals.end()) return found->second;
  std::string all;
  for (const auto& [known, number] : kSignals)
    all += (all.empty() ? "" : ", ") + std::string(known);
  return fail(ErrorCode::InvalidArgument,
              "signal '" + std::string(name.substr(0, 40)) + "' is none of " + all);
}

std::string signal_name(std::int32_t number) {
  const auto* const found =
      std::ranges::find(kSignals, number, [](const auto& s) { return s.second; });
  return found == kSignals.end() ? "signal " + std::to_string(number) : std::string(found->first);
}

Expected<Saving> parse_saving(std::string_view text) {
  constexpr std::string_view kSignal = "signal:";
  constexpr std::string_view kGrace = "grace=";
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view signal = text.substr(0, comma);
  const std::string_view grace = text.substr(std::min(comma + 1, text.size()));
  const bool has_grace = comma < text.size();
  if (!signal.starts_with(kSignal) || (has_grace && !grace.starts_with(kGrace))) {
    return fail(ErrorCode::InvalidArgument, "must be as signal:USR1 or signal:USR1,grace=60s");
  }
  const auto number = parse_signal(signal.substr(kSignal.size()));
  if (!number) return std::unexpected(number.error());
  Saving saving{.signal = *number, .grace = kUsualSaveGrace};
  if (!has_grace) return saving;
  const auto time = parse_duration(grace.substr(kGrace.size()));
  if (!time) return fail(ErrorCode::InvalidArgument, "grace: " + time.error().message);
  if (*time > limits::kLongestGrace) {
    return fail(ErrorCode::InvalidArgument,
                "grace: " + std::string(grace.substr(kGrace.size())) + ", the most is 24h");
  }
  saving.grace = *time;
  return saving;
}

}  // namespace berth
