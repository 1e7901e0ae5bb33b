// What keeps a job to the GPU memory that it was granted, best first: doc/memory-limits.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text/words.hpp"

namespace berth::daemon {

enum class Rung : std::uint8_t {
  Driver,  ///< An allocation beyond fails at the call.
  Mig,     ///< It has a MIG instance to itself, and there is no more memory in that.
  Mps,     ///< Its MPS server lets each of its processes have so much.
  Watch,   ///< It is ended when a look shows it, if others were granted what it took.
  None,
};

/// As configuration and users have it, in the order of the values.
constexpr auto words_of(Rung) {
  return std::to_array<std::string_view>({"driver", "mig", "mps", "watch", "none"});
}

}  // namespace berth::daemon
