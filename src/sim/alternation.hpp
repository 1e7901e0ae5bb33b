// Alternating on and off states, such as failures and repairs. The length of each state is drawn
// exponentially, one by one from the seed, in integer arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "core/base/time.hpp"

namespace berth::sim {

/// Exponential with this mean, in integer arithmetic: the same with every compiler. Above zero, and
/// at most 45 means.
Duration draw_exponential(Rng& rng, Duration mean);

/// Means; nothing ever comes on if `off` is kForever.
struct Means {
  Duration off = kForever;
  Duration on{0};
};

class Alternation {
 public:
  /// There are none.
  Alternation() = default;
  /// So many, all off at `from`; each draws from a stream of its own, from `stream` on.
  Alternation(std::size_t count, const Means& means, std::uint64_t seed, std::uint64_t stream,
              Instant from);

  struct Change {
    std::uint32_t which = 0;
    bool on = false;
  };
  /// kNever if nothing ever changes.
  Instant next() const { return next_.empty() ? kNever : next_.begin()->first; }
  /// What happens next, if it is due.
  std::optional<Change> take(Instant now);
  bool all_off() const { return on_ == 0; }
  /// For what else is drawn of one of them.
  Rng& rng(std::uint32_t which) { return each_[which].rng; }

 private:
  struct One {
    Rng rng;
    bool on = false;
  };

  Means means_;
  std::vector<One> each_;
  std::set<std::pair<Instant, std::uint32_t>> next_;
  std::size_t on_ = 0;
};

}  // namespace berth::sim
