#include "policy/kit/gittins.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace berth {

namespace {

constexpr std::int64_t kArtifactBudget = 3250;
constexpr double kScale = 1e10;

double rounded(double value, double digits) { return std::round(value * digits) / digits; }

/// Of `sorted`, for attained service just below its element `first`.
class Distribution {
 public:
  explicit Distribution(std::vector<std::int64_t> sorted) : sorted_(std::move(sorted)) {
    sums_.reserve(sorted_.size() + 1);
    sums_.push_back(0);
    for (const std::int64_t x : sorted_) sums_.push_back(sums_.back() + static_cast<double>(x));
  }

  std::size_t size() const { return sorted_.size(); }
  std::int64_t operator[](std::size_t i) const { return sorted_[i]; }

  /// A budget is best spent up to a sample: between two of them only the cost grows.
  double paper(std::size_t first, double attained) const {
    double best = 0;
    const auto all = static_cast<double>(size());
    const auto from = static_cast<double>(first);
    for (std::size_t last = first; last < size(); ++last) {
      if (last + 1 < size() && sorted_[last + 1] == sorted_[last]) continue;
      const double ended = static_cast<double>(last + 1) - from;
      const double budget = static_cast<double>(sorted_[last]) - attained;
      const double spent =
          sums_[last + 1] - sums_[first] - ended * attained + budget * (all - from - ended);
      if (spent > 0) best = std::max(best, ended / spent);
    }
    return best;
  }

  /// With the roundings of the peer, which order jobs too.
  double artifact(std::size_t first) const {
    const std::int64_t until = sorted_[first] - 1 + kArtifactBudget;
    std::size_t last = size() - 1;  // the peer's end, one short of all
    if (until <= sorted_.back() - 1) {
      last = static_cast<std::size_t>(std::ranges::upper_bound(sorted_, until) - sorted_.begin());
    }
    const auto beyond = static_cast<double>(size() - first);
    const double chance = rounded(static_cast<double>(last - first) / beyond, 1e5);
    const double longer = static_cast<double>(size() - last) * double{kArtifactBudget};
    const double cost = rounded((sums_[last] - sums_[first] + longer) / beyond, 1e5);
    return rounded(chance * 1e6 / cost, 1e4) / 1e6;
  }

 private:
  std::vector<std::int64_t> sorted_;
  std::vector<double> sums_;
};

}  // namespace

GittinsIndex::GittinsIndex(std::span<const std::int64_t> samples, GittinsForm form) {
  std::vector<std::int64_t> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const Distribution distribution(std::move(sorted));
  for (std::size_t i = 0; i < distribution.size(); ++i) {
    if (i > 0 && distribution[i] == distribution[i - 1]) continue;
    const double attained = i == 0 ? 0 : static_cast<double>(distribution[i - 1]);
    const double index =
        form == GittinsForm::Paper ? distribution.paper(i, attained) : distribution.artifact(i);
    samples_.push_back(distribution[i]);
    index_.push_back(std::llround(index * kScale));
  }
}

std::int64_t GittinsIndex::at(std::int64_t attained) const {
  const auto next = std::ranges::upper_bound(samples_, attained);
  return next == samples_.end() ? 0 : index_[static_cast<std::size_t>(next - samples_.begin())];
}

}  // namespace berth
