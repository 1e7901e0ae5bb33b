// What an equal split of a cluster would give each user: max-min fair shares over time.
//
// At each moment every user has a demand, and gets it or an equal part of what those that demand
// less leave, whichever is less (water filling: Bertsekas and Gallager, Data Networks, 6.5.2). As
// long as all demands together fit, everybody gets what it demands.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/time.hpp"

namespace berth::sim {

/// Amounts are integers in a unit of the caller's, such as millionths of a GPU, so that shares that
/// are equal compare so.
class EqualSplit {
 public:
  /// Users are numbers from 0.
  EqualSplit(std::int64_t capacity, std::size_t users, Instant start);

  /// From `now` on this user demands so much more, or less. Requires: `now` never goes back.
  /// O(log users), and as much for each user that begins or ceases to get all that it demands.
  void change(std::size_t user, std::int64_t by, Instant now);

  /// Amount x seconds that its share came to by `now`. Requires: as change().
  double share(std::size_t user, Instant now);

 private:
  struct User {
    std::int64_t demand = 0;
    bool is_served = true;  ///< It gets all that it demands.
    double since = 0;       ///< The clock of its kind when `got` was right.
    double got = 0;
  };
  using Users = std::set<std::pair<std::int64_t, std::size_t>>;  ///< By demand.

  void advance(Instant now);
  double clock(const User& user) const { return user.is_served ? seconds_ : level_seconds_; }
  void settle(User& user);
  void move(std::size_t user, bool to_served);
  void level();

  std::vector<User> users_;
  Users served_;       ///< Those with a demand that is met,
  Users cut_;          ///< and those with one that is not; these share what is left equally.
  std::int64_t left_;  ///< Of the capacity, by the served.
  Instant now_;
  double seconds_ = 0;        ///< Up to now.
  double level_seconds_ = 0;  ///< The share of one that is cut, over time.
};

}  // namespace berth::sim
