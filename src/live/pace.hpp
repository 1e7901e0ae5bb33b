// When to look at a GPU next: often while a job there could take memory that others were granted
// and have not taken yet, else as seldom as a quiet machine deserves.
//
// Pure bookkeeping: instants and looks are given. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/view.hpp"
#include "live/ports.hpp"

namespace berth::live {

/// How often GPUs are looked at.
struct Rhythm {
  Duration usual = seconds(1);  ///< Between two looks at all GPUs.
  /// Least time between two looks at a GPU whose tenants ramp. From `usual` on there are no such
  /// looks.
  Duration fast = Duration(10'000);
};

/// What is known of one GPU.
struct Scene {
  std::size_t watched = 0;         ///< Tenants that only looking keeps to their charge.
  std::size_t tenants = 0;         ///< All of them.
  Bytes free{0};                   ///< Capacity that no process holds.
  Bytes unfilled{0};               ///< Charged to tenants and not held, but for a step.
  Duration took{0};                ///< What the last look took.
  std::optional<Instant> began;    ///< The beginning of the last look; none yet.
  std::optional<Instant> grew;     ///< When use was last seen to grow.
  std::optional<Instant> changed;  ///< The last start or end of a tenant.
};

/// How long a GPU whose use grew counts as one that ramps, and one where a tenant began.
inline constexpr Duration kRamp = seconds(2);
inline constexpr Duration kBegan = seconds(30);
/// Jobs that fill their memory from a disk or from host memory take no more a second. One that
/// reserves at once is faster than any look.
inline constexpr Bytes kTakenInASecond{std::int64_t{8} << 30};
/// Looks at one GPU take at most one part in so many of the time.
inline constexpr int kMostShare = 20;

/// From the beginning of the last look to the next one: between `fast` and five times that while
///   - use has grown within kRamp (`fast`);
///   - a tenant began within kBegan, or less is free than is taken at kTakenInASecond until the
///     next usual look (five times `fast`);
/// and only while there are two tenants, one that is watched, and unfilled charges: else nobody can
/// be hurt. A start is followed by a look after five times `fast`. Returns: nothing if the usual
/// looks do.
std::optional<Duration> pause_of(const Scene& scene, Instant now, const Rhythm& rhythm);

class Pacer {
 public:
  Pacer(std::size_t gpus, const Rhythm& rhythm) : rhythm_(rhythm), gpus_(gpus) {}

  /// A tenant starts or ends there now.
  void changed(const std::vector<GpuId>& gpus, Instant now);
  /// A look there is under way: none is due until saw().
  void asked(GpuId gpu) { gpus_[gpu.value()].asked = true; }
  /// A look that has come now. `limited`: jobs that the driver keeps to their charge.
  void saw(const Look& look, const ClusterView& view, Instant now,
           const std::set<JobId>& limited = {});

  /// GPUs to be looked at by now, beside the usual looks.
  std::set<GpuId> due(Instant now) const;
  /// The time until the first is due; nothing if none will be.
  std::optional<Duration> next(Instant now) const;

 private:
  struct Known {
    Scene scene;
    Bytes level{0};      ///< Use when it last counted as grown, or the least since.
    bool asked = false;  ///< A look is under way.
  };

  std::optional<Instant> due_at(const Known& known, Instant now) const;

  Rhythm rhythm_;
  std::vector<Known> gpus_;
};

}  // namespace berth::live
