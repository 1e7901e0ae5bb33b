// Foreign processes that come to GPUs, take memory and leave, drawn by the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/cluster.hpp"
#include "sim/alternation.hpp"

namespace berth::sim {

struct ForeignModel {
  Duration every = kForever;  ///< Mean time without one, GPU by GPU; kForever: none comes.
  Duration stay = hours(1);   ///< Mean time one stays.
  Bytes least{0};             ///< What it takes is drawn evenly from here
  Bytes most{0};              ///< to here.

  bool is_on() const { return every != kForever; }
  bool operator==(const ForeignModel&) const = default;
};

/// `every=6h,for=30m,size=2G-20G`, or one size, in any order; `for` is an hour unless stated.
/// Errors: InvalidArgument naming the text.
Expected<ForeignModel> parse_foreign(std::string_view text);

class Foreign {
 public:
  /// There is no foreign process at `from`.
  Foreign(const Cluster& cluster, const ForeignModel& model, std::uint64_t seed, Instant from);

  struct Change {
    GpuId gpu;
    Bytes wants{0};  ///< From now on; 0: it goes.
  };
  /// kNever if none ever comes.
  Instant next() const { return each_.next(); }
  /// What happens next, if it is due.
  std::optional<Change> take(Instant now);
  bool all_gone() const { return each_.all_off(); }

 private:
  ForeignModel model_;
  Alternation each_;
};

}  // namespace berth::sim
