// The engine's time: wall time at the start of the daemon, then time that only goes forward.
//
// Microseconds since 1970 as the machine believed at the start, never before what was journaled,
// and from there on CLOCK_BOOTTIME: setting the machine's clock moves nothing, sleep counts. Nor
// does it between two daemons under running jobs, whose time limits must not jump: how far we are
// ahead of CLOCK_BOOTTIME is kept in a file, good until the machine boots again. A machine's clock
// that is years after the end of the journal is not taken over either, unless it is said that it
// is right.
#pragma once

#include <optional>
#include <string>

#include "live/ports.hpp"

namespace berth::daemon {

class Clock : public live::Clock {
 public:
  /// What the machine's clock shows.
  static Instant wall();
  /// `last`: the latest instant in the journal.
  explicit Clock(Instant last);
  /// On from `last`, whatever the machine's clock shows.
  static Clock from(Instant last);
  /// As the daemon before, if the file says how and this still is its boot; else by wall time.
  static Clock as_before(Instant last, const std::string& path);
  /// The same; nothing where the file does not say how.
  static std::optional<Clock> kept(Instant last, const std::string& path);

  /// Now; from any thread.
  Instant now() const override;
  /// The engine's time when the machine's clock showed `wall`, a moment ago; never after now.
  Instant at(Instant wall) const;
  /// For as_before(). Where it cannot be written, the next daemon goes by wall time.
  void keep(const std::string& path) const;

 private:
  Duration ahead_;  ///< Of CLOCK_BOOTTIME.
};

/// True if the machine's clock is so far after the end of the journal that it is not believed: then
/// all that people stated for the time between would be over, and all old jobs be removed.
bool is_far_ahead(Instant wall, Instant last);

/// `2040-11-24 03:00:00 UTC`.
std::string date_text(Instant at);
/// What to say where the engine's time is this far ahead of the machine's clock, and what to do.
std::string ahead_text(Instant engine, Instant wall);

}  // namespace berth::daemon
