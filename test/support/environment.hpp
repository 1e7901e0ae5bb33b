// What a run of the tests is told by the environment: which seed, and how much.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace berth::test {

/// The number in this variable of the environment, or `otherwise`.
inline std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace berth::test
