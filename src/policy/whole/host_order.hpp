// The orders in which Synergy (Mohan et al., OSDI 2022) serves jobs in a round, and which of them
// it tries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "policy/whole/host_packing.hpp"

namespace berth {

enum class HostOrder : std::uint8_t {
  Fifo,
  Srtf,    ///< Least time left.
  Las,     ///< Least attained service, in GPU time.
  Ftf,     ///< Least of (waited + ran + left) / whole: the least unfair first.
  Drf,     ///< Least dominant share of the cluster.
  Tetris,  ///< Least of (sum of the shares of the cluster) x time left.
};

/// A job that may be in the round.
struct HostJob {
  HostChoice choice;
  Instant arrival;
  Duration left{0};   ///< At its present speed.
  Duration whole{1};  ///< With the proportional amounts, from its begin to its end; above zero.
  GpuTime attained{0};
};

/// All there is.
struct HostTotals {
  GpuCount gpus{0};
  CpuMilli cpu{0};
  Bytes host{0};
};
HostTotals totals_of(const Cluster& cluster);

/// Sorts, best first; equal ones by arrival and then as they are.
void sort_by(HostOrder order, std::vector<HostJob>& jobs, Instant now, const HostTotals& totals);

/// Tries the jobs one after the other, but those that ask for more whole GPUs than are free. With
/// Las these are first chosen by their number alone; others are not tried, and Tune places the
/// largest of them first.
void pack(HostOrder order, std::span<const HostJob> jobs, HostPacker& packer, const Trial& trial);

}  // namespace berth
