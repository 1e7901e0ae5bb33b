// An order by its registered name, every key at its default.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "policy/registry.hpp"

namespace berth::test {

/// Requires: a registered name of an order.
inline std::unique_ptr<Order> order_named(std::string_view name) {
  const PolicyEntry& entry = *std::ranges::find(policies(), name, &PolicyEntry::name);
  return entry.order(Keys(entry.about->keys), {});
}

}  // namespace berth::test
