// berth's own line in the admin_comment of a job of Slurm's. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"

namespace berth {

/// What one shard of a GPU is, in bytes.
inline constexpr std::int64_t kShard = std::int64_t{1} << 30;

/// Shards of one GPU, rounded up.
constexpr std::int64_t shards_of(Bytes bytes) { return (bytes.raw() + kShard - 1) / kShard; }

/// What berth notes of a job in its admin_comment, which only Slurm's administrators can write.
struct SlurmNote {
  Bytes vram{0};  ///< Per GPU; 0: whole GPUs.
  std::int64_t gpus = 1;
  DurationClass duration_class = DurationClass::Medium;
  bool is_held = false;  ///< By its user when it was submitted.
  Attempt attempt;       ///< The latest that was let run; 0: none.
  std::string place;     ///< Of that: `n3:5`.

  bool operator==(const SlurmNote&) const = default;
};

/// `berth vram=20GiB gpus=1 class=short attempt=3 at=n3:5`.
std::string to_text(const SlurmNote& note);

/// Nothing for a comment that is not berth's. Memory is rounded up to shards. Errors: BadData that
/// names the word that is wrong.
Expected<std::optional<SlurmNote>> parse_slurm_note(std::string_view comment);

}  // namespace berth
