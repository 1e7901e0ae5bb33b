// Every policy and placement by name: one ordered list, no static registration.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "policy/backfills.hpp"
#include "policy/gates.hpp"
#include "policy/policies.hpp"
#include "policy/spec.hpp"

namespace berth {

/// A policy that is an order in the pipeline has `order` and `backfill`; one of its own has
/// `whole`.
struct PolicyEntry {
  std::string_view name;
  const About* about;
  OrderFactory* order = nullptr;
  std::string_view backfill = {};  ///< The one that it goes with.
  GateFactory* gate = nullptr;
  PolicyFactory* whole = nullptr;
  std::string_view place = "consolidated";  ///< The placement it is meant to go with.
  /// The placement it has whatever it is asked for; "": as asked.
  std::string_view own_place = {};

  constexpr PolicyEntry(std::string_view its_name, const About& says, OrderFactory& make,
                        std::string_view its_backfill,
                        std::string_view usual_place = "consolidated")
      : name(its_name), about(&says), order(make), backfill(its_backfill), place(usual_place) {}
  constexpr PolicyEntry(std::string_view its_name, const About& says, OrderFactory& make,
                        std::string_view its_backfill, GateFactory& its_gate)
      : PolicyEntry(its_name, says, make, its_backfill) {
    gate = its_gate;
  }
  constexpr PolicyEntry(std::string_view its_name, const About& says, PolicyFactory& make,
                        std::string_view its_own_place = "")
      : name(its_name), about(&says), whole(make), own_place(its_own_place) {}

  /// With its usual backfill.
  bool preempts() const;
};

struct PlacerEntry {
  std::string_view name;
  const About* about;
  PlacerFactory* factory;

  /// With every key at its default.
  std::unique_ptr<Placer> make() const { return factory(Keys(about->keys)); }
};

std::span<const PolicyEntry> policies();
std::span<const PlacerEntry> placers();

/// A policy as it was written (spec.hpp), found and checked.
struct Chosen {
  std::string name;  ///< With the parts and keys given.
  const PolicyEntry* policy = nullptr;
  Keys keys = {};
  PipelineOptions options = {};             ///< Of an order's pipeline.
  const BackfillEntry* backfill = nullptr;  ///< Of an order; null for a policy of its own.
  Keys backfill_keys = {};
  std::vector<std::pair<GateFactory*, Keys>> gates = {};  ///< Beside the order's own.
  const PlacerEntry* placer = nullptr;  ///< As asked for; a policy with one of its own ignores it.
  Keys place_keys = {};
  std::string place = {};  ///< What it places by in the end, with the keys given.

  bool gates_preempt = false;  ///< One of them does.
  bool shares_by_mps = false;  ///< One of them has jobs share GPUs through MPS.

  bool preempts() const {
    return gates_preempt ||
           (backfill != nullptr ? backfill->about : policy->about)->needs.preemption;
  }
  std::unique_ptr<Policy> make(const Knobs& knobs = {}) const;
};

/// parse_spec() with the registered names.
Expected<Spec> parse_policy(std::string_view spec);

/// `spec` as in spec.hpp; `place` is the placement if the spec has none, and "" the one the policy
/// has by default. Errors: NotFound with the known names for an unknown name; InvalidArgument for a
/// syntax error, and with the valid keys or values for a wrong key or value.
Expected<Chosen> choose(std::string_view spec, std::string_view place = "");

/// Errors: those of choose(); InvalidArgument if the policy has a placement of its own and another
/// is asked for.
Expected<void> check_place(std::string_view spec, std::string_view place);

/// Errors: those of choose().
Expected<std::unique_ptr<Policy>> make_policy(std::string_view spec, std::string_view place,
                                              const Knobs& knobs = {});

}  // namespace berth
