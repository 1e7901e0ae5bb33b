// Which jobs of a trace run the same program.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How jobs of one program are recognised, so that policies learn from run times, as live.
enum class Programs : std::uint8_t {
  None,   ///< Nothing: every job is one of its own.
  Model,  ///< The trace's model, to the letter.
  Name,   ///< The job's name but for numbers.
};

/// Of its user's job of that model or name, as berthd tells it from a command; 0 for neither.
Fingerprint fingerprint_of(const trace::TraceJob& job, Programs programs);

}  // namespace berth::sim
