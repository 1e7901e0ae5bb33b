// The charts of a section: those that say something, and a sentence that names the others.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "report/chart.hpp"

namespace berth::sim {

class Charts {
 public:
  void add(const Axes& axes, std::span<const Line> lines) {
    put(axes, is_telling(axes, lines) ? line_chart(axes, lines) : "");
  }
  void add(const Axes& axes, std::span<const std::pair<std::string, Point>> dots) {
    put(axes, is_telling(dots) ? trade_off_chart(axes, dots) : "");
  }

  std::string html() const {
    if (dropped_.empty()) return drawn_;
    return drawn_ + "<p>Not drawn, because all values are zero or within 1 % of each other: " +
           escaped(dropped_) + ".</p>\n";
  }

 private:
  void put(const Axes& axes, const std::string& chart) {
    drawn_ += chart;
    if (chart.empty()) dropped_ += (dropped_.empty() ? "" : "; ") + axes.title;
  }

  std::string drawn_;
  std::string dropped_;  ///< Titles.
};

}  // namespace berth::sim
