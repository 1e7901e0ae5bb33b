#include "sim/share/tgs_rule.hpp"

#include <algorithm>
#include <cmath>

namespace berth::sim {

namespace {

constexpr int kLeastProfile = 5;              ///< Ticks.
constexpr std::int64_t kFirstLimit = 20'000;  ///< Blocks a tick.
constexpr std::int64_t kIdleRate = 1'000;     ///< Blocks a tick.
constexpr std::int64_t kMostLimit = 100'000'000'000'000;
constexpr std::int64_t kLeastCap = std::int64_t{1} << 32;
constexpr std::int64_t kLeastSlowCap = std::int64_t{1} << 40;
constexpr double kContended = .03;
constexpr int kMostStarved = 20;  ///< Ticks.

std::int64_t cut(double value) { return static_cast<std::int64_t>(value); }

/// So many times what was done at most, but no bound below `least` holds.
std::int64_t bounded(std::int64_t limit, std::int64_t done, std::int64_t least) {
  return std::min({limit, std::max(3 * done, least), kMostLimit});
}

}  // namespace

TgsRates tgs_share(TgsRates launched, std::int64_t capacity) {
  const std::int64_t all = launched.production + launched.opportunistic;
  if (all <= capacity) return launched;
  return {launched.production * capacity / all, launched.opportunistic * capacity / all};
}

void TgsController::observe(const TgsRates& tick) {
  const std::int64_t rate = std::max<std::int64_t>(tick.production, 1);
  double seen = 0;
  for (std::size_t i = 0; i + 1 < window_.size(); ++i) {
    seen = std::max(seen, static_cast<double>(window_[i] + window_[i + 1]) / 2);
  }
  std::ranges::rotate(window_, window_.begin() + 1);
  window_.back() = rate;
  if (phase_ == Phase::Profile) {
    profile(seen);
  } else if (follow(seen)) {
    control(rate, tick.opportunistic);
  }
}

void TgsController::profile(double seen) {
  const double off = (seen - target_) / target_;
  bool more = true;
  if (std::abs(off) <= .05) {
    target_ = std::max(target_, seen);
    more = cut(target_ - seen) == 0;
  } else if (off > .05) {
    target_ = std::max(target_, .975 * seen);
  } else {
    target_ = std::min(target_, 1.025 * seen);  // also where the target is 0 over 0
  }
  ++profiled_;
  if (profiled_ >= kLeastProfile && !more) phase_ = Phase::Slow;
}

bool TgsController::follow(double seen) {
  const double off = (seen - target_) / target_;
  if (std::abs(off) <= .1) {
    target_ = std::max(target_, seen);
  } else if (std::abs(off) > .2) {
    target_ = off > 0 ? std::max(target_, .975 * seen) : std::min(target_, 1.025 * seen);
    phase_ = Phase::Profile;
    profiled_ = 0;
    return false;
  }
  return true;
}

void TgsController::control(std::int64_t rate, std::int64_t opportunistic) {
  if (++ticks_ == 1) {
    limit_ = kFirstLimit;
    return;
  }
  const auto idle = std::ranges::count_if(window_, [](auto r) { return r < kIdleRate; });
  if (idle > 2 && ticks_ >= 15) {
    limit_ = std::min(std::max(3 * opportunistic, kLeastCap), kMostLimit);
    phase_ = Phase::Slow;
    return;
  }
  if (idle == 2 && ticks_ > 15) {
    limit_ = kFirstLimit;
    phase_ = Phase::Slow;
    return;
  }
  const double off = std::abs(static_cast<double>(rate) - target_) / target_;
  phase_ == Phase::Slow ? slow(off, opportunistic) : avoid(off, opportunistic);
  give_in(off);
}

void TgsController::slow(double off, std::int64_t opportunistic) {
  if (off <= kContended) {
    limit_ = cut(1.5 * static_cast<double>(limit_) + 1);
    limit_ = bounded(limit_, opportunistic, kLeastSlowCap);
  } else {
    limit_ = cut(static_cast<double>(limit_) / 1.5);
    grew_ = false;
    phase_ = Phase::Avoid;
  }
}

void TgsController::avoid(double off, std::int64_t opportunistic) {
  const bool grows = grew_ ? off < kContended : off <= kContended;
  if (grows) {
    limit_ += std::max<std::int64_t>(cut(.00025 * target_), 1'000);
  } else {
    limit_ -= std::max<std::int64_t>(cut(.08 * static_cast<double>(limit_)), 1'000);
  }
  grew_ = grows;
  limit_ = bounded(limit_, opportunistic, kLeastCap);
  if (off >= 3 * kContended) {
    phase_ = Phase::Slow;
    limit_ = cut(static_cast<double>(limit_) / 10);
  }
}

void TgsController::give_in(double off) {
  starved_ = off >= 4 * kContended ? starved_ + 1 : 0;
  if (starved_ >= kMostStarved) {
    target_ *= .8;
    phase_ = Phase::Slow;
    limit_ = cut(static_cast<double>(limit_) / 2);
    starved_ = 0;
  }
  limit_ = std::max<std::int64_t>(limit_, 0);
}

}  // namespace berth::sim
