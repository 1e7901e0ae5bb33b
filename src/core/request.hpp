// The resources that a job asks for. A request is a plain value; it is resolved into an Ask
// (ask.hpp) before placing.
#pragma once

#include <compare>
#include <cstdint>

#include "core/base/units.hpp"

namespace berth {

/// Whether a job's GPUs may have other tenants, and whether a gate may let it wait before it joins
/// some (policy/gate/idle.cpp). Users say `patient`, `never` and `now` (words.hpp).
enum class Sharing : std::uint8_t {
  Shared,  ///< As the policy has it.
  Alone,   ///< No other job on them.
  AtOnce,  ///< As soon as there is memory for it.
};

/// How a GPU serves several tenants.
enum class ShareMode : std::uint8_t {
  Exclusive,  ///< Not at all: one tenant at a time.
  TimeSlice,  ///< The driver's own: tenants take turns.
  Mps,        ///< Side by side, in one server's context.
  Mig,        ///< In instances, each a GPU of its own here.
};

/// A set of GPU types, one bit each (Cluster::type_bit). Empty means any type.
using GpuTypes = std::uint64_t;

/// A set of GPUs, one bit each (GpuSpec::self). Empty means any GPU.
using GpuSet = std::uint64_t;
inline constexpr std::uint32_t kMostInSet = 64;  ///< Those with larger ids are in no set.

struct GpuRequest {
  GpuCount count{0};  ///< Zero is legal: a job that needs no GPU.
  Bytes vram{0};      ///< Per GPU; zero means "not stated".
  GpuMilli milli{0};  ///< Compute share per GPU; zero means "whatever is left".
  Sharing sharing = Sharing::Shared;
  std::int32_t processes = 1;  ///< Processes per GPU; each pays the GPU's context.
  GpuTypes types = 0;
  GpuSet only = 0;  ///< Those it accepts; at least `most()` of them, or none.
  GpuCount min{0};  ///< The fewest and the most GPUs that an elastic job runs with, with `count`
  GpuCount max{0};  ///< between them; zero and zero for a rigid one.

  constexpr bool is_elastic() const { return max > GpuCount(0); }
  constexpr GpuCount least() const { return is_elastic() ? min : count; }
  constexpr GpuCount most() const { return is_elastic() ? max : count; }

  auto operator<=>(const GpuRequest&) const = default;
};

struct Request {
  CpuMilli cpu{0};
  Bytes host{0};  ///< Host memory.
  GpuRequest gpu;

  auto operator<=>(const Request&) const = default;
};

}  // namespace berth
