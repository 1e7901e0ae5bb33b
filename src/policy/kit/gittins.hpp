// The Gittins index over a sample of past service: the chance that a job ends soon, per service.
//
// Tiresias (Gu et al., NSDI 2019) ranks jobs of unknown length by it: the largest ratio, over all
// budgets of further service, of the chance to end within the budget to the expected service spent.
// A larger index goes first. There are two forms: the paper's, and that of the authors' simulator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

enum class GittinsForm : std::uint8_t {
  /// sup over D > 0 of P(X - a <= D | X > a) / E[min(X - a, D) | X > a].
  Paper,
  /// D is 3,250 and service already attained is not subtracted: P(X <= a + D | X > a) over
  /// (the sum of x in (a, a + D] + D for each x beyond) / the number beyond a.
  Artifact,
};

/// The index by attained service, for the distribution of a sample. Service is in GPU-seconds.
class GittinsIndex {
 public:
  /// O(n^2) for the paper's form, O(n log n) for the artifact's.
  GittinsIndex(std::span<const std::int64_t> samples, GittinsForm form);

  bool is_known() const { return !samples_.empty(); }
  /// In 10^-10 of 1 / GPU-second; 0 beyond every sample. O(log n).
  std::int64_t at(std::int64_t attained) const;

 private:
  std::vector<std::int64_t> samples_;  ///< Ascending, distinct.
  std::vector<std::int64_t> index_;    ///< Of attained service in [samples_[i - 1], samples_[i]).
};

}  // namespace berth
