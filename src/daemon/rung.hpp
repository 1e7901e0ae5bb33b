// What keeps a job to the GPU memory that it was granted, best first: doc/memory-limits.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::daemon {

enum class Rung : std::uint8_t {
  Driver,  ///< An allocation beyond fails at the call.
  Mig,     ///< It has a MIG instance to itself, and there is no more memory in that.
  Mps,     ///< Its MPS server lets each of its processes have so much.
  Watch,   ///< It is ended when a look shows it, if others were granted what it took.
  None,
};

/// As configuration and users have it.
constexpr std::string_view word_for(Rung rung) {
  switch (rung) {
    case Rung::Driver:
      return "driver";
    case Rung::Mig:
      return "mig";
    case Rung::Mps:
      return "mps";
    case Rung::Watch:
      return "watch";
    case Rung::None:
      return "none";
  }
  return "none";
}

/// Nothing for a word that configuration has no use for.
constexpr std::optional<Rung> rung_of(std::string_view word) {
  if (word == "driver") return Rung::Driver;
  if (word == "watch") return Rung::Watch;
  return std::nullopt;
}

}  // namespace berth::daemon
