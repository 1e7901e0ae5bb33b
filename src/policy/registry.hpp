// Every policy and placement by name: one ordered list, no static registration.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "policy/policy.hpp"

namespace berth {

using PlacerFactory = std::unique_ptr<Placer>();

/// What a policy may be told when it is made.
struct Knobs {
  std::string_view name = {};      ///< The name it was asked for by; a file may serve several.
  PlacerFactory* place = nullptr;  ///< The placement it was asked for with.
  bool rebuild = false;            ///< See PipelineOptions::rebuild.
  Duration quantum = minutes(5);   ///< Of preemptive orders whose ranks move all the time.
  /// Service of past jobs in GPU-seconds, for orders that learn from it; empty if none is known.
  std::span<const std::int64_t> service = {};
  /// Where the queues of dlas and e-las end, in GPU-seconds, rising; empty: as published.
  std::span<const std::int64_t> thresholds = {};
};

using OrderFactory = std::unique_ptr<Order>(const Knobs&);
using PolicyFactory = std::unique_ptr<Policy>(const Knobs&);

/// A policy that is an order in the pipeline has `order` and `options`; one of its own has `whole`,
/// and of the options only whether it preempts.
struct PolicyEntry {
  std::string_view name;
  OrderFactory* order = nullptr;
  PipelineOptions options = {};
  PolicyFactory* whole = nullptr;
  std::string_view place = "consolidated";  ///< The placement it is meant to go with.
  std::string_view own_place = {};  ///< What it places by whatever it is asked for; "": as asked.

  bool preempts() const { return options.preemption == Preemption::ByRank; }
};

struct PlacerEntry {
  std::string_view name;
  PlacerFactory* make;
};

std::span<const PolicyEntry> policies();
std::span<const PlacerEntry> placers();

/// The placement a policy is made with: `place`, or if that is empty the one it is meant to go
/// with. Errors: NotFound with the known names for a policy or placement nobody registered.
Expected<const PlacerEntry*> placer_for(std::string_view policy, std::string_view place);

/// What a run of this policy is placed by: its own placement, else `place`, else the one it is
/// meant to go with.
std::string_view place_name(std::string_view policy, std::string_view place);

/// Errors: those of placer_for(); InvalidArgument if the policy has a placement of its own and
/// `place` asks for another.
Expected<void> check_place(std::string_view policy, std::string_view place);

/// With the placement of placer_for(), and its errors; a policy with one of its own ignores it.
Expected<std::unique_ptr<Policy>> make_policy(std::string_view name, std::string_view place,
                                              const Knobs& knobs = {});

}  // namespace berth
