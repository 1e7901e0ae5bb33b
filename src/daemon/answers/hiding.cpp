#include "daemon/answers/hiding.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/text/points.hpp"
#include "daemon/limits/idle.hpp"
#include "live/command.hpp"
#include "live/conductor.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

namespace {

/// With which notes begin that have no word of a user's in them.
constexpr auto kOfBerthd = std::to_array<std::string_view>(
    {kIdle, live::kBecause, live::kResumed, live::kPreempted, live::kCancelled, live::kEnded});

}  // namespace

std::string Sight::command(const std::string& line) const {
  return sees_all_ ? line : live::program_alone(line);
}

std::string Sight::name(const std::string& text, const ArrayPlace& place) const {
  return sees_all_ ? text : without_point(text, place);
}

std::string Sight::note(const std::string& text) const {
  const bool is_of_berthd = std::ranges::any_of(
      kOfBerthd, [&](std::string_view beginning) { return text.starts_with(beginning); });
  if (sees_all_) return text;
  return is_of_berthd ? text.substr(0, text.find("; ")) : "";  // what follows may be a shim's
}

}  // namespace berth::daemon
