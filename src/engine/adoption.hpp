// Whether a process that its user started by hand can be a job where it is.
//
// What it holds was foreign use of its GPUs and becomes its charge, so the admission inequality is
// asked of each GPU without that use. The daemon asks before it takes such a request in, the engine
// when it does. Pure functions of the view.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/input.hpp"
#include "core/view.hpp"

namespace berth {

/// Nothing if it can be adopted so; else the GPU, the value and the limit: `GPU 1: ...`. Requires:
/// the GPUs are there.
std::optional<std::string> why_not_adopted(const ClusterView& view, UserId user,
                                           std::span<const AdoptedShare> shares);

/// The largest charge with which it could be adopted on that GPU, as far as memory goes; negative
/// where others hold or were promised more than there is.
Bytes room_for_adopted(const ClusterView& view, const AdoptedShare& share);

}  // namespace berth
