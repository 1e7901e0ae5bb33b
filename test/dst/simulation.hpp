// One seed from its first to its last moment: daemons that come and go in a
// world full of trouble, then calm, in which every job must come to its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "dst/plan.hpp"

namespace berth::dst {

struct Result {
  std::string plan;                    ///< to_text(Plan).
  std::optional<std::string> finding;  ///< The first invariant that broke.
  std::string story;                   ///< What happened before that; its end.
  std::map<std::string, int> seen;     ///< How often what came up.
};

/// Follows from the seed alone.
Result simulate(std::uint64_t seed, Defect defect = Defect::None);

/// For people: the plan, the seed, the commit, the finding and the story.
std::string to_text(const Result& result);

}  // namespace berth::dst
