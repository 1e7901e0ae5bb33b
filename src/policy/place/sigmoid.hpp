// The logistic function in integers, for scores that must not depend on floating point.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/wide.hpp"

namespace berth {

/// ln((50 + j) / (50 - j)) in millionths, j from 0: the sigmoid is (50 + j) % there.
inline constexpr auto kLogit = std::to_array<std::int64_t>(
    {0,         40'005,    80'043,    120'144,   160'343,   200'671,   241'162,   281'851,
     322'773,   363'965,   405'465,   447'312,   489'548,   532'217,   575'364,   619'039,
     663'294,   708'185,   753'772,   800'119,   847'298,   895'384,   944'462,   994'623,
     1'045'969, 1'098'612, 1'152'680, 1'208'311, 1'265'666, 1'324'925, 1'386'294, 1'450'010,
     1'516'347, 1'585'627, 1'658'228, 1'734'601, 1'815'290, 1'900'959, 1'992'430, 2'090'741,
     2'197'225, 2'313'635, 2'442'347, 2'586'689, 2'751'535, 2'944'439, 3'178'054, 3'476'099,
     3'891'820, 4'595'120});

/// 100 / (1 + exp(-milli / of / 1000)), cut to a whole number. Requires: `of` is not negative.
constexpr std::int64_t sigmoid_percent(std::int64_t milli, std::int64_t of) {
  const Wide size = Wide{milli < 0 ? -milli : milli} * 1000;
  const auto reached = [&](std::int64_t logit) { return Wide{logit} * of <= size; };
  const auto above = std::ranges::partition_point(kLogit, reached) - kLogit.begin();
  if (milli >= 0) return 49 + above;
  const bool exact = Wide{kLogit[static_cast<std::size_t>(above) - 1]} * of == size;
  return exact ? 51 - above : 50 - above;
}

}  // namespace berth
