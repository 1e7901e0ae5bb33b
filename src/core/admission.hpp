// The memory inequality: it says when a GPU may take one more tenant.
//
// On GPU d with capacity C, foreign use F, charges S already taken and a guard band G, a new charge
// c is taken only if F + S + c + G <= C. The first tenant needs no guard: no other can be hurt.
// Pure functions of values; doc/problem.md states and proves what follows from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/ask.hpp"
#include "core/base/limits.hpp"
#include "core/base/units.hpp"
#include "core/cluster.hpp"

namespace berth {

/// How strictly memory is guaranteed. A run setting, never a policy's choice.
enum class AdmissionMode : std::uint8_t {
  Guarantee,   ///< The inequality above, with charges held from before the start.
  Declared,    ///< Declared sums only: foreign use and measurements are ignored.
  FreeMemory,  ///< What polling tools do: start if the measured free memory suffices right now.
  None,        ///< Every job starts.
};

struct Admission {
  AdmissionMode mode = AdmissionMode::Guarantee;
  Bytes guard_floor{std::int64_t{512} << 20};
  std::int64_t guard_ppm = 20'000;  ///< Of capacity, parts per million.

  auto operator<=>(const Admission&) const = default;
};

/// Tenants are counted in 16 bits; no driver serves so many.
using limits::kMostTenants;

/// A driver need not report utilisation; an unknown one never counts as idle or as busy.
inline constexpr std::int16_t kUnknownUtilisation = -1;

/// The state of one GPU, beside its spec.
struct GpuUse {
  Bytes charged{0};   ///< Sum of the charges of its tenants.
  Bytes foreign{0};   ///< Measured: processes berth did not start.
  Bytes used{0};      ///< Measured: everything, tenants included.
  GpuMilli milli{0};  ///< Sum of the tenants' compute shares.
  std::uint16_t tenants = 0;
  std::uint16_t alone = 0;  ///< Tenants that asked to be alone; more than one only under `none`.
  std::uint32_t gang = 0;   ///< GPUs of the tenant that is alone, here and elsewhere.
  std::int16_t utilisation = kUnknownUtilisation;  ///< Measured: percent, in coarse steps.
  bool drained = false;                            ///< It takes no more jobs, as somebody asked.
  bool healthy = true;                             ///< The GPU itself.
  bool reachable = true;                           ///< Its node is up.
  std::uint64_t reserved = 0;  ///< The reservations that it is part of, a bit for each.

  bool operator==(const GpuUse&) const = default;
};

/// True for a healthy GPU on a node that is up.
constexpr bool is_usable(const GpuUse& use) { return use.healthy && use.reachable && !use.drained; }

/// True while foreign use and charges exceed the capacity, so that no grant there is admitted.
constexpr bool is_under_pressure(const GpuSpec& gpu, const GpuUse& use) {
  return use.foreign + use.charged > gpu.capacity;
}

constexpr Bytes guard_band(const Admission& admission, const GpuSpec& gpu) {
  const std::int64_t whole = gpu.capacity.raw() / 1'000'000 * admission.guard_ppm;
  const std::int64_t rest = gpu.capacity.raw() % 1'000'000 * admission.guard_ppm / 1'000'000;
  return std::max(admission.guard_floor, Bytes(whole + rest));
}

/// True for an ask for whole GPUs without an amount of memory.
constexpr bool takes_whole(const Ask& ask) {
  return ask.alone() && ask.request.gpu.vram == Bytes(0);
}

/// The charge of `ask` on this GPU now.
constexpr Bytes charge_of(const Ask& ask, const GpuSpec& gpu, const GpuUse& use) {
  return takes_whole(ask) ? std::max(Bytes(0), gpu.capacity - use.foreign) : charge_on(ask, gpu);
}

inline constexpr Bytes kMostBytes{std::numeric_limits<std::int64_t>::max()};

/// An ask for more memory than this is refused by `guarantee`, for want of room. A GPU that is out
/// of service refuses for that, so it counts as one of any size.
constexpr Bytes room_on(const GpuSpec& gpu, const GpuUse& use) {
  if (!is_usable(use)) return kMostBytes;
  return use.alone > 0 ? Bytes(-1) : gpu.capacity - use.foreign - use.charged;
}

/// True for a healthy GPU without tenants and without foreign use above the guard band.
constexpr bool is_vacant(const Admission& admission, const GpuSpec& gpu, const GpuUse& use) {
  if (!is_usable(use) || use.tenants != 0) return false;
  if (use.foreign == Bytes(0)) return true;  // nearly always; the band is not worth computing
  return admission.mode != AdmissionMode::Guarantee || use.foreign <= guard_band(admission, gpu);
}

/// The memory part of the inequality, under `guarantee`.
constexpr bool memory_holds(const Admission& admission, const GpuSpec& gpu, const GpuUse& use,
                            const Ask& ask) {
  if (takes_whole(ask)) return is_vacant(admission, gpu, use);
  const Bytes guard = use.tenants == 0 ? Bytes(0) : guard_band(admission, gpu);
  return use.foreign + use.charged + charge_on(ask, gpu) + guard <= gpu.capacity;
}

/// The part about slots, compute shares and jobs that are alone.
constexpr bool tenancy_holds(const GpuSpec& gpu, const GpuUse& use, const Ask& ask) {
  if (use.tenants == 0) return true;
  return gpu.share_mode != ShareMode::Exclusive && !ask.alone() && use.alone == 0 &&
         use.tenants < gpu.slots && use.milli + ask.request.gpu.milli <= kWholeGpu;
}

/// True if some GPUs will not do, whatever is free on them.
constexpr bool is_choosy(const GpuRequest& request) {
  return request.types != 0 || request.only != 0;
}

/// The same for an ask, which has more reasons.
constexpr bool is_choosy(const Ask& ask) {
  return is_choosy(ask.request.gpu) || ask.barred != 0 || ask.home.if_set() != nullptr;
}

/// True if this GPU is of a type that will do, and among those that will.
constexpr bool accepts(const GpuRequest& request, const GpuSpec& gpu) {
  return (request.types == 0 || (request.types >> gpu.type & 1) != 0) &&
         (request.only == 0 || (request.only & gpu.self) != 0);
}

/// True if this GPU may take `ask` as one more tenant; without host resources and user limits.
constexpr bool admits(const Admission& admission, const GpuSpec& gpu, const GpuUse& use,
                      const Ask& ask) {
  if (!is_usable(use) || !accepts(ask.request.gpu, gpu)) return false;
  if ((use.reserved & ask.barred) != 0 || !may_be_on(gpu.node, ask, 1)) return false;
  switch (admission.mode) {
    case AdmissionMode::None:
      return use.tenants < kMostTenants;
    case AdmissionMode::FreeMemory:
      return use.used + ask.request.gpu.vram <= gpu.capacity && tenancy_holds(gpu, use, ask);
    case AdmissionMode::Declared: {
      const Bytes declared = takes_whole(ask) ? Bytes(0) : charge_on(ask, gpu);
      return use.charged + declared <= gpu.capacity && tenancy_holds(gpu, use, ask);
    }
    case AdmissionMode::Guarantee:
      return tenancy_holds(gpu, use, ask) && memory_holds(admission, gpu, use, ask);
  }
  return false;
}

}  // namespace berth
