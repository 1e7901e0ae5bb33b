// The GPU time granted in a run and in the time in which its jobs arrive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/base/wide.hpp"
#include "core/request.hpp"
#include "sim/window.hpp"

namespace berth::sim {

/// Over some time. A GPU counts with the compute shares of its tenants together, one GPU at the
/// most; a tenant that states none counts as a whole GPU.
struct Use {
  double seconds = 0;    ///< How long that time is.
  double allocated = 0;  ///< GPU-seconds granted.
  double busy = 0;       ///< GPU-seconds with at least one tenant.
  double tenancy = 0;    ///< Tenants x seconds, over all GPUs.
  double kernels = 0;    ///< GPU-seconds with a kernel.
  double held = 0;       ///< GPU memory in use: bytes x seconds, over all GPUs.
};

class Usage {
 public:
  /// From `start` on; `arrivals` is the time in which jobs arrive.
  Usage(std::size_t gpus, Instant start, const Window& arrivals);

  /// A tenant that asks for this comes to these GPUs. Requires: `now` never goes back. O(GPUs).
  void begin(const GpuRequest& asked, std::span<const GpuId> gpus, Instant now);
  /// It leaves them.
  void end(const GpuRequest& asked, std::span<const GpuId> gpus, Instant now);
  /// The part of the time with a kernel on a GPU, in parts per million, is so much more or less; it
  /// counts up to all of the time.
  void add_load(GpuId gpu, std::int64_t more, Instant now);
  /// The GPU memory in use from now on, on all GPUs together.
  void hold(Bytes bytes, Instant now);

  /// Up to `now`.
  Use whole(Instant now);
  /// Of the time in which jobs arrive, up to `now`.
  Use arriving(Instant now);

 private:
  struct Sums {
    std::int64_t milli = 0;
    std::int64_t gpus = 0;
    std::int64_t tenants = 0;
    std::int64_t load = 0;
    std::int64_t bytes = 0;
  };
  /// Sums x microseconds.
  struct Integral {
    Wide milli = 0;
    Wide gpus = 0;
    Wide tenants = 0;
    Wide load = 0;
    Wide bytes = 0;

    void add(const Sums& sums, Duration time);
    Use over(Duration time) const;
  };
  struct OnGpu {
    std::int32_t tenants = 0;
    std::int64_t milli = 0;
    std::int64_t load = 0;
  };

  void change(std::span<const GpuId> gpus, std::int64_t milli, std::int32_t tenants);
  void advance(Instant now);

  std::vector<OnGpu> on_;
  Sums sums_;
  Instant start_;
  Instant since_;
  Window window_;
  Integral whole_;
  Integral arriving_;
};

}  // namespace berth::sim
