// What the policies of Gavel's artefact have in common.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "policy/about.hpp"
#include "policy/whole/rounds.hpp"

namespace berth {

inline constexpr auto kGavelKeys = std::to_array<Key>({
    {.name = "round",
     .type = KeyType::Time,
     .usual = "6m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Length of a round."},
    {.name = "plan_lasts",
     .type = KeyType::Time,
     .usual = "32m",
     .least = 0,
     .most = kYear,
     .what = "A plan is used for at least this long, even if jobs come or go."},
});

/// The rounds of the artefact with these keys. It shuffles the types for policies whose names end
/// neither in Perf nor in Packing.
inline RoundRules gavel_rules(const Keys& keys, RoundRules::Types types, TimePlan::Unowed unowed) {
  return {.round = keys.time("round"),
          .plan_lasts = keys.time("plan_lasts"),
          .types = types,
          .unowed = unowed};
}

}  // namespace berth
