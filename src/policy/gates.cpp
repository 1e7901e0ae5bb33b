#include "policy/gates.hpp"

#include <array>

namespace berth {

namespace {

constexpr auto kGates = std::to_array<GateEntry>({
    {"exclusive", &kExclusiveGate, exclusive},
    {"idle", &kIdle, idle},
    {"local", &kLocal, local},
    {"mps", &kMps, mps},
    {"yield", &kYield, yield},
});

}  // namespace

std::span<const GateEntry> gates() { return kGates; }

}  // namespace berth
