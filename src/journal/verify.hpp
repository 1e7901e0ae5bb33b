// Decides a journal again and compares: the proof that what ran is what this build would run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/input.hpp"
#include "engine/effect.hpp"

namespace berth::journal {

struct Verified {
  std::int64_t segments = 0;  ///< Stretches from one snapshot to the next, the last one open.
  std::int64_t entries = 0;
  std::int64_t inputs = 0;
  std::int64_t decisions = 0;
};

/// Sees each step that was decided again the same.
using OnStep = std::function<void(Instant, std::span<const Input>, const Effects&)>;

/// From the first snapshot kept: every entry's inputs are stepped by the policy named in the
/// snapshot and must give the recorded decisions, byte for byte; where the policy, the cluster and
/// the settings go on unchanged into the next snapshot, the state must equal it. Opens the file
/// read-only, beside a running daemon if there is one. Errors: as Store::open; BadData naming the
/// first entry that differs and how.
Expected<Verified> verify(const std::string& path, const OnStep& on_step = {});

}  // namespace berth::journal
