// Where MIG instances may be cut: intervals of memory slices at legal places. Pure.
//
// A driver allows each profile at certain starts only (NVIDIA's MIG user guide has the tables), so
// instances that would fit by number may not fit together: two of 4 of 8 slices do, at 0 and 4,
// but where a 1-slice instance stands at 1, only one does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace berth {

/// A profile as a driver offers it on one GPU.
struct MigShape {
  std::string name;              ///< "3g.40gb"
  std::uint32_t profile_id = 0;  ///< The driver's.
  std::uint32_t compute_slices = 0;
  std::uint32_t size = 0;             ///< Memory slices.
  std::vector<std::uint32_t> starts;  ///< Legal ones, ascending.

  bool operator==(const MigShape&) const = default;
};

/// Memory slices [start, start + size).
struct MigPlace {
  std::uint32_t start = 0;
  std::uint32_t size = 0;

  bool operator==(const MigPlace&) const = default;
};

/// A legal start for each of `wanted`, so that none overlaps another or one of `taken`; in the
/// order of `wanted`. The search is complete: nothing means that they cannot fit. Of several
/// answers the one that leaves the most places for others: what has fewer legal starts goes first,
/// each as far back as it can. Exponential in the number of instances, which is at most seven.
std::optional<std::vector<std::uint32_t>> pack_mig(std::span<const MigShape> wanted,
                                                   std::span<const MigPlace> taken = {});

}  // namespace berth
