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

/// The same for policies that let jobs share GPUs by plan.
inline RoundRules gavel_sharing_rules(const Keys& keys, TimePlan::Unowed unowed) {
  RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, unowed);
  rules.sharing = RoundRules::Sharing::AsPlanned;
  return rules;
}

/// The pairing of `gavel/gandiva`, for tests that drive it as the artefact's simulator does.
std::unique_ptr<Allocator> random_pairs();

}  // namespace berth
