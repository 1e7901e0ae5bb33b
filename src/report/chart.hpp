// Charts as SVG text, for reports that are one file and need no network. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace berth::sim {

/// Values that differ by no more, as a part of the largest, look the same.
inline constexpr double kSame = 0.01;

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  std::string name;
  std::vector<Point> points;  ///< Ascending by x.
};

enum class Scale { Linear, Log };

struct Axes {
  std::string title;
  std::string x;
  std::string y;
  Scale scale_x = Scale::Linear;  ///< With Log, points at or below zero are left out.
  Scale scale_y = Scale::Linear;
};

/// False for lines that are zero everywhere, and for several that all look the same: as many
/// points, none of them further from the first line's than kSame of the largest value on its axis.
bool is_telling(const Axes& axes, std::span<const Line> lines);

/// Lines over common axes, from zero up, with a legend if there are several. Points are joined by
/// straight lines; a step function is given with both points of each step.
std::string line_chart(const Axes& axes, std::span<const Line> lines);

/// False if all dots look the same in x or in y: nothing is traded.
bool is_telling(std::span<const std::pair<std::string, Point>> dots);

/// A labelled dot each; a line joins the Pareto front, the dots that no other beats in both x and y
/// (less is better).
std::string trade_off_chart(const Axes& axes, std::span<const std::pair<std::string, Point>> dots);

/// A dot for each point, and the line on which both values are the same; both axes have one range.
std::string agreement_chart(const Axes& axes, std::span<const Point> points);

/// A horizontal bar each, with its value in words.
struct Bar {
  std::string name;
  double value = 0;
  std::string words;
};
std::string bar_chart(const std::string& title, std::span<const Bar> bars);

/// A value with its interval.
struct Ranged {
  double value = 0;
  double low = 0;
  double high = 0;
};
struct Dots {
  std::string name;
  std::vector<std::optional<Ranged>> at;  ///< One for each column; nothing: not known.
};
/// Columns side by side, in each a dot with its interval for each of the dots; `mark` is a line
/// across all columns. With a logarithmic axis, values at or below zero are left out.
struct Columns {
  std::string title;
  std::string y;
  Scale scale_y = Scale::Linear;
  std::vector<std::string> names;  ///< A word to a line.
  std::optional<double> mark;
};
std::string dot_chart(const Columns& columns, std::span<const Dots> dots);

/// A chart as a file of its own.
std::string standalone(const std::string& chart);

/// The jobs on each GPU: a row per lane, a box per stretch; `group` chooses the colour.
struct Box {
  std::size_t lane = 0;
  double from = 0;
  double to = 0;
  std::size_t group = 0;
  std::string name;
};
struct Gantt {
  std::string title;
  std::vector<std::string> lanes;
  std::vector<Box> boxes;
  std::string x;
};
std::string gantt_chart(const Gantt& gantt);

/// With `<`, `&` and quotes escaped for HTML.
std::string escaped(const std::string& text);

}  // namespace berth::sim
