// What jobs run, told from what their users wrote: jobs alike but for numbers have one fingerprint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/ids.hpp"

namespace berth {

/// `lr=1e-3` is `lr=#`: every run of digits with what numbers are written with between them.
std::string without_numbers(std::string_view word);

/// A sum over a user and words; the same words of another user, or otherwise parted, have another.
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
