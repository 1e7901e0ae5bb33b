// What each user has had of the cluster, looked at every ten minutes.
//
// What starts in between moves no rank that follows it: otherwise a pass would undo what the one
// before it decided. A value type; part of a policy's memory.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/view.hpp"

namespace berth {

struct UserServices {
  static constexpr Duration kStep = minutes(10);

  Instant at = Instant::min();             ///< When it was looked at: a multiple of kStep.
  std::map<UserId, std::int64_t> by = {};  ///< Decayed service over weight (account.hpp).
  std::int64_t mean = 0;

  /// O(users) once in a step, else O(1).
  void follow(const ClusterView& view);
  std::int64_t of(UserId user) const {
    const auto found = by.find(user);
    return found == by.end() ? 0 : found->second;
  }
  Instant next_look() const { return at + kStep; }
  /// The first look at `time` or later.
  static Instant look_from(Instant time) {
    const Duration into = Duration(micros(time) % micros(kStep));
    return into == Duration::zero() ? time : later(time, kStep - into);
  }
};
inline auto members(UserServices& v) { return std::tie(v.at, v.by, v.mean); }

}  // namespace berth
