// GPU memory for traces that do not state it: drawn from a distribution, alike for the same seed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/base/units.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

/// A distribution by its quantiles, straight lines between them.
class VramModel {
 public:
  /// `uniform:2G-20G`: anything between is as likely. Errors: InvalidArgument naming the text.
  static Expected<VramModel> parse(std::string_view text);
  /// A CSV with the columns `quantile` (0 to 1) and `vram` (`512M`, `20G`), both ascending, from
  /// quantile 0 to 1. Errors: BadData naming file, line, column, value and what was expected.
  static Expected<VramModel> read(std::string_view text, std::string_view file);

  Bytes draw(Rng& rng) const;

 private:
  struct Point {
    std::int64_t share = 0;  ///< In millionths.
    Bytes vram{0};
  };
  std::vector<Point> points_;  ///< Two at least, the first at 0, the last at a million.
};

/// Gives every job that has GPUs and does not say how much memory it needs a drawn amount, and lets
/// it share. The n-th such job of a trace gets the same amount for the same seed.
void draw_vram(Trace& trace, const VramModel& model, std::uint64_t seed);

}  // namespace berth::trace
