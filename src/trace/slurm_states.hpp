// Slurm's words for what became of a job, as several logs have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::trace {

enum class Outcome : std::uint8_t {
  Ended,    ///< Something ended it: a user, a limit, a node.
  Itself,   ///< It ended by itself, well or badly.
  NotEnded  ///< It runs, waits or is to run again.
};

/// Of `COMPLETED`, and of `CANCELLED by 1000` too. Nothing for a word that is none of Slurm's.
std::optional<Outcome> slurm_outcome(std::string_view state);
inline constexpr std::string_view kSlurmState = "a state of Slurm's such as COMPLETED or RUNNING";

}  // namespace berth::trace
