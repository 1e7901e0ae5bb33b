// A probe that looks at the GPUs every so often, as berthd's does, and tells the engine what has
// changed: memory, and for which part of the last second a GPU had a kernel, as NVML counts it.
//
// A GPU is not looked at while its figures stay as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/input.hpp"

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
  /// A tenant has come to these GPUs, or left them.
  void note_tenant(const std::vector<GpuId>& gpus);
  /// GPUs where one did since their last look.
  const std::set<GpuId>& stale() const { return stale_; }
  /// Its memory has changed.
  void touch(GpuId gpu, Instant now);
  /// The next look after `now`; kNever if there is nothing to see.
  Instant next(Instant now) const;
  /// The GPUs to look at then.
  const std::set<GpuId>& due() const { return due_; }
  /// Looks at a GPU; `seen` is what is there but for the utilisation. Returns: what the engine is
  /// told, by core/steady.hpp, if anything.
  std::optional<Measured> look(Measured seen, Instant now);

 private:
  struct Load {
    Instant from;
    std::int64_t ppm = 0;  ///< Of the tenants together; a GPU is busy all the time at the most.
  };
  struct Card {
    std::vector<Load> loads;  ///< Of the last second; the last one is that of now.
    Instant stays;            ///< From when on its figures stay.
    std::optional<Measured> told;
  };

  void expect(GpuId gpu, Instant stays);

  const Cluster& cluster_;
  Duration every_;
  Instant from_;
  std::vector<Card> cards_;
  std::set<GpuId> due_;
  std::set<GpuId> stale_;
};

}  // namespace berth::sim
