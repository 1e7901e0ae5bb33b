// A probe that looks at the GPUs every so often, as berthd's does, and tells the engine what has
// changed: memory, and for which part of the time since the look before a GPU was busy.
//
// A GPU whose tenants, memory and load stay as they are is not looked at: its figures stay too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/cluster.hpp"
#include "core/input.hpp"
#include "core/time.hpp"

namespace berth::sim {

class Probe {
 public:
  /// Looks at whole multiples of `every` after `from`; kForever: never. Requires: the cluster
  /// outlives it; every > 0.
  Probe(const Cluster& cluster, Duration every, Instant from);

  bool is_on() const { return every_ != kForever; }
  /// The load of a GPU, in parts per million, is this much more or less from now on. Requires:
  /// `now` never goes back, here and below.
  void add_load(GpuId gpu, std::int64_t more, Instant now);
  /// Its memory has changed.
  void touch(GpuId gpu);
  /// The next look after `now`; kNever if there is nothing to see.
  Instant next(Instant now) const;
  /// The GPUs to look at then.
  const std::set<GpuId>& due() const { return due_; }
  /// Looks at one that is due; `seen` is what is there but for the utilisation. Returns: what the
  /// engine is told, if anything.
  std::optional<Measured> look(Measured seen, Instant now);

 private:
  struct Card {
    std::int64_t load = 0;   ///< Of its tenants together; a GPU is busy all the time at the most.
    Instant since;           ///< `busy` is up to here.
    std::int64_t busy = 0;   ///< In this period, in microseconds times parts per million.
    std::int32_t looks = 0;  ///< To come.
    std::optional<Measured> told;
  };

  static void advance(Card& card, Instant period, Instant now);
  void expect(GpuId gpu);

  const Cluster& cluster_;
  Duration every_;
  Instant from_;
  std::vector<Card> cards_;
  std::set<GpuId> due_;  ///< Those with looks to come.
};

}  // namespace berth::sim
