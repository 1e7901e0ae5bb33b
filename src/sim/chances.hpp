// What happens by chance: machines that fail, and foreign processes that come and go. Such events
// never end.
#pragma once

#include <algorithm>
#include <cstddef>

#include "sim/faults.hpp"
#include "sim/foreign.hpp"
#include "sim/options.hpp"

namespace berth::sim {

class Chances {
 public:
  /// From `from` on. Requires: the cluster outlives it.
  Chances(const Cluster& cluster, const Options& options, Instant from)
      : faults_(cluster, options.faults, options.seed, from),
        foreign_(cluster, options.foreign, options.seed, from) {}

  /// The next event, where others come next at `next`. One of chance may let a job start when
  /// nothing else would; if all is healthy, or that has not helped for long, nothing waits for it.
  Instant with_next(Instant next) {
    const bool is_well = faults_.all_up() && foreign_.all_gone();
    if (next == kNever && (is_well || ++alone_ > kMost)) return kNever;
    if (next != kNever) alone_ = 0;
    return std::min({next, faults_.next(), foreign_.next()});
  }

  auto take_fault(Instant now) { return faults_.take(now); }
  auto take_foreign(Instant now) { return foreign_.take(now); }

 private:
  static constexpr std::size_t kMost = 1'000'000;

  Faults faults_;
  Foreign foreign_;
  std::size_t alone_ = 0;  ///< Events by chance in a row, with nothing else to come.
};

}  // namespace berth::sim
