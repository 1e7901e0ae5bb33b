// The one start that a pass promises, and the same from pass to pass.
#pragma once

#include <optional>

#include "core/base/assert.hpp"
#include "policy/kit/departures.hpp"
#include "policy/pipeline/shadow.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

/// In one pass.
class StartPromise {
 public:
  /// `known` is that of the last pass, if it still holds. Requires: both others outlive this.
  StartPromise(Walk& walk, const Departures& departures, std::optional<Shadow> known)
      : walk_(walk), departures_(departures), known_(std::move(known)) {}

  /// Promises a start to this job; nothing if it would not fit were all others gone. It counts
  /// against its user's limits from then on. Requires: nothing is promised.
  void make(JobId id, const Ask& ask);

  /// That of the last pass, until one is made.
  const std::optional<Shadow>& known() const { return known_; }
  bool is_made() const { return shadow_.has_value(); }
  bool is_to(JobId id) const { return shadow_ && shadow_->job == id; }
  /// Requires of these: is_made().
  Instant start() const {
    BERTH_ASSERT(is_made());
    return shadow_->start;
  }
  bool is_outlasted_by(JobId id) const { return at_start_->is_outlasted_by(id); }

  /// Where another job may start, which wants to go there: AtStart::place_beside() if the job runs
  /// on at the promised start. It counts as started there.
  std::optional<Placement> place_beside(JobId id, const Ask& ask, Placement wanted);

  const std::optional<Shadow>& shadow() const { return shadow_; }

 private:
  Walk& walk_;
  const Departures& departures_;
  std::optional<Shadow> known_;
  std::optional<Shadow> shadow_;
  std::optional<AtStart> at_start_;  ///< If there is a shadow.
};

/// From pass to pass.
class LastPromise {
 public:
  /// Once in a pass, before anything else. The promise of the last pass is known in this one if
  /// every job keeps to the plans it rests on and its place is kept. Requires: both outlive what is
  /// returned.
  StartPromise follow(Walk& walk);
  /// At the end of a pass; its place is kept, and those of others, which come before its own for a
  /// job that has both.
  void keep(const StartPromise& promise, Walk& walk, std::vector<Hold> others = {});

 private:
  std::optional<Shadow> shadow_;
  Departures departures_;  ///< What it rests on.
};

}  // namespace berth
