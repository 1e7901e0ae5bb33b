// Names of things: one strong integer type per kind, ordered, never mixed up.
#pragma once

#include <compare>
#include <cstdint>

namespace berth {

template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  explicit constexpr Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = 0;
};

using JobId =
    Id<struct JobIdTag, std::uint64_t>;  ///< From 1, in order of submission; 0 names none.
using NodeId = Id<struct NodeIdTag>;     ///< Dense from 0.
using GpuId = Id<struct GpuIdTag>;       ///< Dense from 0 across the cluster, node by node.
using UserId = Id<struct UserIdTag>;     ///< The shell's number for a user (a unix uid live).
using BlobId =
    Id<struct BlobIdTag, std::uint64_t>;  ///< Arguments and environment, kept by the shell.
using Fingerprint =
    Id<struct FingerprintTag, std::uint64_t>;  ///< What a job runs; 0 for what is not known.
using Attempt = Id<struct AttemptTag>;         ///< From 1; each berth of a job is a new one.
using SwitchId = Id<struct SwitchIdTag>;       ///< A rack or network switch.

}  // namespace berth
