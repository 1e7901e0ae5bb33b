// Fingerprints of programs, of the words that say which one it is; and names without numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/ids.hpp"

namespace berth {

/// Replaces every number by `#`, as `lr=1e-3` by `lr=#`.
std::string without_numbers(std::string_view word);

/// A hash of a user and words; another user or another division of the words gives another.
class FingerprintSum {
 public:
  explicit FingerprintSum(std::uint64_t user);
  void add(std::string_view word);
  /// Never 0.
  Fingerprint value() const { return Fingerprint(sum_ == 0 ? 1 : sum_); }

 private:
  void add_byte(unsigned char byte);

  std::uint64_t sum_ = 0xcbf29ce484222325;  // FNV-1a
};

}  // namespace berth
