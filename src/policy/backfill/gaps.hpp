// When a GPU is free of some of its tenants: the gaps between them.
//
// A job that needs a GPU alone may begin where a gap is as long as its run. A GPU with fifty
// bookings has few gaps, so most jobs that cannot begin sooner are found in a moment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/time.hpp"

namespace berth {

struct Gap {
  Instant from;  ///< Instant::min(): since ever.
  Instant to;    ///< kNever: for good.

  /// The first time from `at` on at which a run of this length fits in.
  std::optional<Instant> first(Instant at, Duration lasts) const {
    const Instant begin = std::max(from, at);
    return begin < to && later(begin, lasts) <= to ? std::optional(begin) : std::nullopt;
  }
  bool meets(Instant begin, Instant end) const { return from < end && begin < to; }
  /// The last such time. Requires: there is one.
  Instant last(Duration lasts) const { return to == kNever ? kNever : to - lasts; }
};

/// What these stays leave, ascending; each is a pair of times.
inline std::vector<Gap> gaps_between(std::vector<std::pair<Instant, Instant>> stays) {
  std::ranges::sort(stays);
  std::vector<Gap> gaps;
  Instant free = Instant::min();
  for (const auto& [from, to] : stays) {
    if (from > free) gaps.push_back({free, from});
    free = std::max(free, to);
  }
  if (free < kNever) gaps.push_back({free, kNever});
  return gaps;
}

/// The longest of many gaps by when they begin, in steps of time: whether a run may fit into one of
/// them is answered at once, and yes if it is not sure.
class LongestGaps {
 public:
  /// Requires: from <= to.
  LongestGaps(Instant from, Instant to)
      : from_(from), step_(std::max(Duration(1), (to - from) / std::int64_t{kSteps})) {}

  void add(const Gap& gap) {
    Duration& longest = longest_[step_of(std::max(gap.from, from_))];
    longest = std::max(longest, gap.to == kNever ? kForever : gap.to - std::max(gap.from, from_));
  }
  /// After the last add().
  void sum() {
    for (std::size_t i = 1; i < kSteps; ++i) longest_[i] = std::max(longest_[i], longest_[i - 1]);
  }
  bool may_have(Instant before, Duration lasts) const {
    return before > from_ && longest_[step_of(before)] >= lasts;
  }

 private:
  static constexpr std::size_t kSteps = 256;
  std::size_t step_of(Instant at) const {
    return std::min(kSteps - 1, static_cast<std::size_t>((at - from_) / step_));
  }

  Instant from_;
  Duration step_;
  std::array<Duration, kSteps> longest_{};
};

/// Times at which enough of many may begin: the first at which as many spans overlap.
class Overlap {
 public:
  void add(Instant first, Instant last) {
    begins_.push_back(first);
    ends_.push_back(last);
  }
  std::optional<Instant> first_of(std::size_t many) {
    std::ranges::sort(begins_);
    std::ranges::sort(ends_);
    std::size_t over = 0;
    for (std::size_t begun = 0; begun < begins_.size(); ++begun) {
      while (ends_[over] < begins_[begun]) ++over;
      if (begun + 1 - over >= many) return begins_[begun];
    }
    return std::nullopt;
  }

 private:
  std::vector<Instant> begins_;
  std::vector<Instant> ends_;
};

}  // namespace berth
