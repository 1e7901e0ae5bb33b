// The engine's time: wall time at the start of the daemon, then time that only goes forward.
//
// Microseconds since 1970 as the machine believed at the start, never before what was journaled,
// and from there on CLOCK_BOOTTIME: setting the machine's clock moves nothing, sleep counts.
#pragma once

#include "core/time.hpp"

namespace berth::daemon {

class Clock {
 public:
  /// `last`: the latest instant in the journal.
  explicit Clock(Instant last);
  /// Now; from any thread.
  Instant now() const;

 private:
  Duration ahead_;  ///< Of CLOCK_BOOTTIME.
};

}  // namespace berth::daemon
