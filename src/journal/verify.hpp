// Decides a journal again and compares: the proof that what ran is what this build would run.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace berth::journal {

struct Verified {
  std::int64_t segments = 0;  ///< Stretches from one snapshot to the next, the last one open.
  std::int64_t entries = 0;
  std::int64_t inputs = 0;
  std::int64_t decisions = 0;
};

/// From the first snapshot kept: every entry's inputs are stepped by the policy named in the
/// snapshot and must give the recorded decisions, byte for byte; where the policy, the cluster and
/// the settings go on unchanged into the next snapshot, the state must equal it. Opens the file
/// read-only, beside a running daemon if there is one. Errors: as Store::open; BadData naming the
/// first entry that differs and how.
Expected<Verified> verify(const std::string& path);

}  // namespace berth::journal
