// Charts of a page: each with its picture and its numbers as files to save, in links that need no
// network and no script. Those of a section that say nothing are named instead.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "report/chart.hpp"

namespace berth::sim {

/// The drawing, and links to save it as SVG and its numbers as CSV.
std::string line_figure(const Axes& axes, std::span<const Line> lines);
std::string trade_off_figure(const Axes& axes, std::span<const std::pair<std::string, Point>> dots);
std::string agreement_figure(const Axes& axes, std::span<const Point> points);
std::string bar_figure(const std::string& title, std::span<const Bar> bars);
std::string gantt_figure(const Gantt& gantt);

class Charts {
 public:
  void add(const Axes& axes, std::span<const Line> lines) {
    put(axes, is_telling(axes, lines) ? line_figure(axes, lines) : "");
  }
  void add(const Axes& axes, std::span<const std::pair<std::string, Point>> dots) {
    put(axes, is_telling(dots) ? trade_off_figure(axes, dots) : "");
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
