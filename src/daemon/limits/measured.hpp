// What each rung lets pass, as it was measured.
#pragma once

#include <string_view>

#include "daemon/limits/rung.hpp"

namespace berth::daemon {

/// How many neighbours a job on this rung hurt that took all it could get, on emulated GPUs:
/// doc/memory-limits.md has the same words and says how it was measured.
constexpr std::string_view measured(Rung rung) {
  switch (rung) {
    case Rung::Driver:
    case Rung::Mig:
    case Rung::Mps:
      return "0 of 400 neighbours hurt";
    case Rung::Watch:
      return "3 % of neighbours hurt where all is taken at once, 0.5 % over all rates of growth";
    case Rung::None:
      return "206 of 400 neighbours hurt";
  }
  return "";
}

}  // namespace berth::daemon
