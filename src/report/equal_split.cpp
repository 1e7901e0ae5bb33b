#include "report/equal_split.hpp"

#include "core/base/wide.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

EqualSplit::EqualSplit(std::int64_t capacity, std::size_t users, Instant start)
    : users_(users), left_(capacity), now_(start) {}

void EqualSplit::advance(Instant now) {
  const double time = in_seconds(now - now_);
  now_ = now;
  seconds_ += time;
  if (!cut_.empty()) {
    level_seconds_ += time * static_cast<double>(left_) / static_cast<double>(cut_.size());
  }
}

void EqualSplit::settle(User& user) {
  const double passed = clock(user) - user.since;
  user.got += user.is_served ? passed * static_cast<double>(user.demand) : passed;
  user.since = clock(user);
}

void EqualSplit::change(std::size_t user, std::int64_t by, Instant now) {
  advance(now);
  User& its = users_[user];
  settle(its);
  Users& its_kind = its.is_served ? served_ : cut_;
  if (its.demand > 0) its_kind.erase({its.demand, user});
  its.demand += by;
  if (its.is_served) left_ -= by;
  if (its.demand > 0) {
    its_kind.emplace(its.demand, user);
  } else {
    its.is_served = true;
    its.since = clock(its);
  }
  level();
}

double EqualSplit::share(std::size_t user, Instant now) {
  advance(now);
  settle(users_[user]);
  return users_[user].got;
}

void EqualSplit::move(std::size_t user, bool to_served) {
  User& its = users_[user];
  settle(its);
  (to_served ? cut_ : served_).erase({its.demand, user});
  (to_served ? served_ : cut_).emplace(its.demand, user);
  left_ += to_served ? -its.demand : its.demand;
  its.is_served = to_served;
  its.since = clock(its);
}

/// Each move raises the level, so none is made back.
void EqualSplit::level() {
  const auto exceeds = [&](std::int64_t demand) {
    return Wide{demand} * static_cast<std::int64_t>(cut_.size()) > left_;
  };
  for (;;) {
    if (!cut_.empty() && !exceeds(cut_.begin()->first)) {
      move(cut_.begin()->second, true);
    } else if (!served_.empty() && (cut_.empty() ? left_ < 0 : exceeds(served_.rbegin()->first))) {
      move(served_.rbegin()->second, false);
    } else {
      return;
    }
  }
}

}  // namespace berth::sim
