// Jobs beside each other as fast as their models were measured to be.
#pragma once

#include <optional>

#include "core/base/rate.hpp"
#include "core/knowledge/speeds.hpp"
#include "sim/share/share_model.hpp"

namespace berth::sim {

/// How fast the model of `who` runs beside those of all others on this type of GPU, the product
/// over them; nothing if one of these pairs was not measured. A table says both directions of a
/// pair apart: what slows the one need not slow the other. O(tenants x log pairs).
std::optional<Rate> measured_beside(const Speeds& speeds, const SharedGpu& gpu);

}  // namespace berth::sim
