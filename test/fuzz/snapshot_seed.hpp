// How an input of snapshot_fuzz begins: two bytes, low one first, that choose the policy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/registry.hpp"
#include "support/choice.hpp"

namespace berth::test {

/// Nothing for what is too short to choose one.
inline std::string_view policy_of_seed(std::string_view bytes) {
  if (bytes.size() < 2) return {};
  const auto low = static_cast<unsigned char>(bytes[0]);
  const auto high = static_cast<unsigned char>(bytes[1]);
  return chosen(policies(), "snapshot", std::uint64_t{high} << 8 | low).name;
}

/// The bytes that choose it. Requires: it is registered.
inline std::string seed_of_policy(std::string_view name) {
  const std::uint16_t number = number_of(name, "snapshot");
  return {static_cast<char>(number & 0xff), static_cast<char>(number >> 8)};
}

/// The name of its seed in corpus/snapshot.
inline std::string seed_file(std::string_view policy) {
  std::string name(policy);
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace berth::test
