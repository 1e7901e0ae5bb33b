// An order as it is written: with the keys given, the others at their defaults.
#pragma once

#include <memory>
#include <string_view>

#include "policy/registry.hpp"

namespace berth::test {

/// Requires: a registered name of an order, and valid keys.
inline std::unique_ptr<Order> order_named(std::string_view spec) {
  const auto chosen = choose(spec);
  return chosen->policy->order(chosen->keys, {});
}

}  // namespace berth::test
