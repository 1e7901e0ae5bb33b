#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace berth::sim {

namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 300;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kLegendRow = 16;
constexpr std::size_t kLegendColumns = 3;
constexpr std::array kColours = {"#2f6fb0", "#d1682c", "#3f8f4f", "#8a5fa8", "#b0413e",
                                 "#6b6b6b", "#b58b00", "#2b9c9c", "#c45a9a", "#7a5230"};

/// When the colours are used up they come again with gaps in the line.
constexpr std::array kDashes = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 2.5\""};

const char* colour(std::size_t i) { return kColours[i % kColours.size()]; }

std::string stroke(std::size_t i) {
  return "stroke=\"" + std::string(colour(i)) + "\"" +
         kDashes[i / kColours.size() % kDashes.size()];
}

std::string number(double value, int digits = 1) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// `1500`, `0.25`, `2M`: short enough for an axis.
std::string tick_text(double value) {
  char text[32];
  const double size = std::abs(value);
  if (size >= 1e6) {
    std::snprintf(text, sizeof text, "%gM", value / 1e6);
  } else if (size >= 1e4) {
    std::snprintf(text, sizeof text, "%gk", value / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%g", value);
  }
  return text;
}

/// About five round numbers from 0 to `most`.
std::vector<double> linear_ticks(double most) {
  if (!(most > 0)) return {0};
  const double raw = most / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= raw) break;
  }
  std::vector<double> ticks;
  for (int i = 0; step * i <= most * 1.0001; ++i) ticks.push_back(step * i);
  return ticks;
}

/// Powers of ten, and where these are fewer than three, 2 and 5 times them as well.
std::vector<double> log_ticks(double least, double most) {
  std::vector<double> powers;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most; power *= 10) {
    if (power >= least) powers.push_back(power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      if (tick >= least && tick <= most) ticks.push_back(tick);
    }
  }
  return powers.size() < 3 ? ticks : powers;
}

/// The values along one axis.
class Range {
 public:
  explicit Range(Scale scale)
      : log_(scale == Scale::Log), least_(log_ ? std::numeric_limits<double>::max() : 0) {}

  bool shows(double value) const { return !log_ || value > 0; }
  void add(double value) {
    least_ = std::min(least_, log_ ? value : 0);
    most_ = std::max(most_, value);
  }
  /// After all were added: there is something between its ends.
  void settle() {
    if (log_ && least_ > most_) least_ = most_ = 1;
    if (log_ && least_ == most_) most_ = least_ * 10;
    if (!log_ && most_ <= 0) most_ = 1;
  }
  /// From 0 at its least value to 1.
  double share(double value) const {
    return log_ ? std::log(value / least_) / std::log(most_ / least_) : value / most_;
  }
  double cut(double value) const {
    return std::clamp(std::isfinite(value) ? value : most_, least_, most_);
  }
  std::vector<double> ticks() const {
    return log_ ? log_ticks(least_, most_) : linear_ticks(most_);
  }

 private:
  bool log_;
  double least_;
  double most_ = 0;
};

/// Where values lie on the page.
class Frame {
 public:
  Frame(const Axes& axes, std::span<const Line> lines, double width = kWidth)
      : width_(width), x_(axes.scale_x), y_(axes.scale_y) {
    for (const Line& line : lines) {
      for (const Point& point : line.points) {
        if (!shows(point)) continue;
        x_.add(point.x);
        y_.add(point.y);
      }
    }
    x_.settle();
    y_.settle();
  }
  bool shows(const Point& point) const { return x_.shows(point.x) && y_.shows(point.y); }
  double x(double value) const { return kLeft + x_.share(value) * (width_ - kLeft - kRight); }
  double y(double value) const {
    return kHeight - kBottom - y_.share(value) * (kHeight - kTop - kBottom);
  }
  double right() const { return width_ - kRight; }
  /// To the ends of the y axis.
  double cut(double y) const { return y_.cut(y); }
  std::vector<double> x_ticks() const { return x_.ticks(); }
  std::vector<double> y_ticks() const { return y_.ticks(); }

 private:
  double width_;
  Range x_;
  Range y_;
};

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* kind = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor +
         "\" class=\"" + kind + "\">" + escaped(text) + "</text>\n";
}

std::string rule(double x1, double y1, double x2, double y2) {
  return "<line class=\"grid\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
         number(x2) + "\" y2=\"" + number(y2) + "\"/>\n";
}

/// One that is too long for the drawing is drawn narrower.
std::string title_of(const std::string& title, double width) {
  constexpr double kLetter = 7.2;  ///< About the mean of this face and size.
  const double room = width - kLeft - kRight;
  std::string text = text_at(kLeft, 18, "start", title, "title");
  if (static_cast<double>(title.size()) * kLetter <= room) return text;
  return text.insert(5, " textLength=\"" + number(room) + "\" lengthAdjust=\"spacingAndGlyphs\"");
}

std::string opened(double width, double height, const std::string& title) {
  return "<svg viewBox=\"0 0 " + number(width, 0) + " " + number(height, 0) +
         "\" role=\"img\" aria-label=\"" + escaped(title) + "\">\n" + title_of(title, width);
}

std::string y_axis_of(const std::string& words, const Frame& frame) {
  std::string svg;
  for (const double tick : frame.y_ticks()) {
    svg += rule(kLeft, frame.y(tick), frame.right(), frame.y(tick));
    svg += text_at(kLeft - 6, frame.y(tick) + 4, "end", tick_text(tick));
  }
  return svg + "<text class=\"\" text-anchor=\"middle\" transform=\"translate(14," +
         number((kTop + kHeight - kBottom) / 2) + ") rotate(-90)\">" + escaped(words) + "</text>\n";
}

std::string axes_of(const Axes& axes, const Frame& frame) {
  std::string svg = y_axis_of(axes.y, frame);
  for (const double tick : frame.x_ticks()) {
    svg += text_at(frame.x(tick), kHeight - kBottom + 16, "middle", tick_text(tick));
  }
  return svg + text_at((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", axes.x);
}

std::string polyline(const Line& line, const Frame& frame, const std::string& look) {
  std::string svg = "<polyline fill=\"none\" " + look + " points=\"";
  for (const Point& point : line.points) {
    if (frame.shows(point)) svg += number(frame.x(point.x)) + "," + number(frame.y(point.y)) + " ";
  }
  return svg + "\"/>\n";
}

/// Where a dot's name stands.
struct Label {
  double x = 0;
  double y = 0;
  const char* anchor = "start";
  double from = 0;  ///< The width it takes, about.
  double to = 0;
};

/// Beside its dot, on the side with more room, above the names that are there already.
Label label_of(const std::string& name, double x, double y, std::span<const Label> others) {
  constexpr double kLetter = 6;
  constexpr double kRow = 12;
  const double width = kLetter * static_cast<double>(name.size());
  const bool is_right = x > kLeft + 0.7 * (kWidth - kLeft - kRight);
  Label label{.x = x + (is_right ? -8 : 8), .y = y - 6, .anchor = is_right ? "end" : "start"};
  label.from = is_right ? label.x - width : label.x;
  label.to = label.from + width;
  const auto hides = [&](const Label& other) {
    return std::abs(other.y - label.y) < kRow - 1 && other.from < label.to && label.from < other.to;
  };
  while (label.y > kTop + kRow && std::ranges::any_of(others, hides)) label.y -= kRow;
  return label;
}

/// Row by row, in columns, of what has a name.
template <class Named>
std::string legend(std::span<const Named> lines) {
  const double column = (kWidth - kLeft - kRight) / kLegendColumns;
  std::string svg;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double x = kLeft + column * static_cast<double>(i % kLegendColumns);
    const std::size_t row = i / kLegendColumns;
    const double y = kHeight + kLegendRow * (static_cast<double>(row) + 0.5);
    svg += "<line stroke-width=\"3\" " + stroke(i) + " x1=\"" + number(x) + "\" y1=\"" +
           number(y - 3) + "\" x2=\"" + number(x + 16) + "\" y2=\"" + number(y - 3) + "\"/>\n" +
           text_at(x + 21, y + 1, "start", lines[i].name);
  }
  return svg;
}

/// Words below each other, from `y` down.
std::string words_at(double x, double y, const std::string& words) {
  constexpr double kRow = 12;
  std::string svg;
  for (std::size_t at = 0; at < words.size(); y += kRow) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    svg += text_at(x, y, "middle", words.substr(at, end - at));
    at = end + 1;
  }
  return svg;
}

/// What the axes must show: all values, and of their intervals what is not far from them.
std::vector<Point> ends_of(const Columns& columns, std::span<const Dots> dots) {
  constexpr double kFar = 2;
  const auto right = static_cast<double>(columns.names.size());
  std::vector<double> values;
  if (columns.mark) values.push_back(*columns.mark);
  for (const Dots& line : dots) {
    for (const auto& ranged : line.at) {
      const bool is_shown = ranged && std::isfinite(ranged->value) &&
                            (columns.scale_y == Scale::Linear || ranged->value > 0);
      if (is_shown) values.push_back(ranged->value);
    }
  }
  if (values.empty()) return {{right, 1}};
  const auto [least, most] = std::ranges::minmax(values);
  double high = most;
  double low = least;
  for (const Dots& line : dots) {
    for (const auto& ranged : line.at) {
      if (!ranged) continue;
      high = std::max(high, std::min(ranged->high, most * kFar));
      low = std::min(low, std::max(ranged->low, least / kFar));
    }
  }
  return {{right, low}, {right, high}};
}

/// Nothing where the axis cannot show it.
std::string dot(const std::optional<Ranged>& ranged, double x, std::size_t i, const Frame& frame) {
  if (!ranged || !std::isfinite(ranged->value) || !frame.shows({0, ranged->value})) return "";
  const double y = frame.y(ranged->value);
  const auto cut = [&](double value) { return frame.y(frame.cut(value)); };
  return "<line stroke-width=\"1.5\" " + stroke(i) + " x1=\"" + number(x) + "\" y1=\"" +
         number(cut(ranged->low)) + "\" x2=\"" + number(x) + "\" y2=\"" +
         number(cut(ranged->high)) + "\"/>\n<circle r=\"3.2\" fill=\"" + colour(i) + "\" cx=\"" +
         number(x) + "\" cy=\"" + number(y) + "\"/>\n";
}

double legend_height(std::size_t lines) {
  const std::size_t rows = (lines + kLegendColumns - 1) / kLegendColumns;
  return kLegendRow * static_cast<double>(rows + 1);
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '"') {
      safe += "&quot;";
    } else {
      safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return safe;
}

bool is_telling(const Axes& axes, std::span<const Line> lines) {
  Point most;
  for (const Line& line : lines) {
    for (const Point& point : line.points) {
      if (axes.scale_x == Scale::Log && point.x <= 0) continue;
      most = {std::max(most.x, std::abs(point.x)), std::max(most.y, std::abs(point.y))};
    }
  }
  if (most.y <= 0) return false;
  const auto are_near = [&](const Point& a, const Point& b) {
    return std::abs(a.x - b.x) <= kSame * most.x && std::abs(a.y - b.y) <= kSame * most.y;
  };
  const auto is_first = [&](const Line& line) {
    return std::ranges::equal(line.points, lines.front().points, are_near);
  };
  return lines.size() < 2 || !std::ranges::all_of(lines, is_first);
}

bool is_telling(std::span<const std::pair<std::string, Point>> dots) {
  const auto differ = [&](double Point::* axis) {
    const auto value = [&](const auto& dot) { return dot.second.*axis; };
    const auto [least, most] = std::ranges::minmax(dots, {}, value);
    return value(most) - value(least) >
           kSame * std::max(std::abs(value(most)), std::abs(value(least)));
  };
  return !dots.empty() && differ(&Point::x) && differ(&Point::y);
}

std::string line_chart(const Axes& axes, std::span<const Line> lines) {
  const Frame frame(axes, lines);
  const bool has_legend = lines.size() > 1;
  const double below = has_legend ? legend_height(lines.size()) : 0;
  std::string svg = opened(kWidth, kHeight + below, axes.title) + axes_of(axes, frame);
  // The first, which the others are compared with, is drawn over them.
  for (std::size_t i = lines.size(); i-- > 0;) svg += polyline(lines[i], frame, stroke(i));
  if (has_legend) svg += legend<Line>(lines);
  return svg + "</svg>\n";
}

std::string trade_off_chart(const Axes& axes, std::span<const std::pair<std::string, Point>> dots) {
  Line all;
  Line front;
  for (const auto& [name, dot] : dots) {
    all.points.push_back({dot.x * 1.15, dot.y * 1.1});  // room for the labels
    const auto beats = [&](const auto& other) {
      const Point& at = other.second;
      return at.x <= dot.x && at.y <= dot.y && (at.x < dot.x || at.y < dot.y);
    };
    if (std::ranges::none_of(dots, beats)) front.points.push_back(dot);
  }
  std::ranges::sort(front.points, {}, &Point::x);
  const Frame frame(axes, std::span(&all, 1));
  std::string svg = opened(kWidth, kHeight, axes.title) + axes_of(axes, frame);
  svg += polyline(front, frame, "stroke=\"#999\"");
  std::vector<Label> labels;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const auto& [name, dot] = dots[i];
    svg += "<circle r=\"5\" fill=\"" + std::string(colour(i)) + "\" cx=\"" +
           number(frame.x(dot.x)) + "\" cy=\"" + number(frame.y(dot.y)) + "\"/>\n";
    labels.push_back(label_of(name, frame.x(dot.x), frame.y(dot.y), labels));
  }
  for (std::size_t i = 0; i < dots.size(); ++i) {
    svg += text_at(labels[i].x, labels[i].y, labels[i].anchor, dots[i].first);
  }
  return svg + "</svg>\n";
}

std::string agreement_chart(const Axes& axes, std::span<const Point> points) {
  Line all;  // and its mirror image, so that both axes are alike
  for (const Point& point : points) {
    all.points.push_back(point);
    all.points.push_back({point.y, point.x});
  }
  const Frame frame(axes, std::span(&all, 1));
  std::erase_if(all.points, [&](const Point& point) { return !frame.shows(point); });
  std::string svg = opened(kWidth, kHeight, axes.title) + axes_of(axes, frame);
  if (!all.points.empty()) {
    const auto [least, most] = std::ranges::minmax(all.points, {}, &Point::x);
    svg += polyline({"", {{least.x, least.x}, {most.x, most.x}}}, frame, "stroke=\"#999\"");
  }
  for (const Point& point : points) {
    if (!frame.shows(point)) continue;
    svg += "<circle r=\"2.5\" fill-opacity=\"0.5\" fill=\"" + std::string(colour(0)) + "\" cx=\"" +
           number(frame.x(point.x)) + "\" cy=\"" + number(frame.y(point.y)) + "\"/>\n";
  }
  return svg + "</svg>\n";
}

std::string bar_chart(const std::string& title, std::span<const Bar> bars) {
  constexpr double kRow = 22;
  constexpr double kNames = 130;
  constexpr double kWords = 110;
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, bar.value);
  std::string svg = opened(kWidth, kTop + kRow * static_cast<double>(bars.size()) + 8, title);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kTop + kRow * static_cast<double>(i);
    const double width = most > 0 ? bars[i].value / most * (kWidth - kNames - kWords) : 0;
    svg += text_at(kNames - 6, y + 14, "end", bars[i].name);
    svg += "<rect x=\"" + number(kNames) + "\" y=\"" + number(y + 3) + "\" width=\"" +
           number(width) + "\" height=\"15\" fill=\"" + colour(0) + "\"/>\n";
    svg += text_at(kNames + width + 6, y + 14, "start", bars[i].words);
  }
  return svg + "</svg>\n";
}

std::string dot_chart(const Columns& columns, std::span<const Dots> dots) {
  constexpr double kStep = 9;
  const auto count = static_cast<double>(columns.names.size());
  const auto of_column = static_cast<double>(dots.size());
  const double width = std::max(kWidth, kLeft + kRight + count * (of_column + 1.5) * kStep);
  const std::vector<Line> all{{"", ends_of(columns, dots)}};
  const Frame frame({.scale_y = columns.scale_y}, all, width);
  std::string svg = opened(width, kHeight + 14 + legend_height(dots.size()), columns.title);
  for (std::size_t i = 0; i < columns.names.size(); i += 2) {
    const double from = frame.x(static_cast<double>(i));
    svg += "<rect fill=\"#f5f5f5\" x=\"" + number(from) + "\" y=\"" + number(kTop) + "\" width=\"" +
           number(frame.x(static_cast<double>(i + 1)) - from) + "\" height=\"" +
           number(kHeight - kTop - kBottom) + "\"/>\n";
  }
  svg += y_axis_of(columns.y, frame);
  if (columns.mark) {
    svg += polyline({"", {{0, *columns.mark}, {count, *columns.mark}}}, frame, "stroke=\"#222\"");
  }
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const double middle = frame.x(static_cast<double>(i) + 0.5);
    svg += words_at(middle, kHeight - kBottom + 14, columns.names[i]);
    for (std::size_t one = 0; one < dots.size(); ++one) {
      if (i >= dots[one].at.size()) continue;
      const double x = middle + (static_cast<double>(one) - (of_column - 1) / 2) * kStep;
      svg += dot(dots[one].at[i], x, one, frame);
    }
  }
  return svg + legend<Dots>(dots) + "</svg>\n";
}

std::string standalone(const std::string& chart) {
  const std::size_t end = chart.find('>');
  std::string svg = chart;
  svg.insert(end + 1, R"(
<style>
text { font: 11px system-ui, sans-serif; fill: #555; }
text.title { font-size: 13px; font-weight: 600; fill: #222; }
.grid { stroke: #e4e4e4; }
polyline { stroke-width: 1.2; }
</style>
<rect width="100%" height="100%" fill="#fff"/>)");
  return svg.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
}

std::string gantt_chart(const Gantt& gantt) {
  const double rows = static_cast<double>(gantt.lanes.size());
  const double row = std::clamp(400 / std::max(rows, 1.0), 3.0, 16.0);
  const double width = 2 * kWidth;
  double most = 0;
  for (const Box& box : gantt.boxes) most = std::max(most, box.to);
  if (most <= 0) most = 1;
  const double scale = (width - kLeft - kRight) / most;
  std::string svg = opened(width, kTop + row * rows + kBottom, gantt.title);
  for (std::size_t i = 0; i < gantt.lanes.size(); ++i) {
    if (row < 10 && i % 8 != 0) continue;
    svg += text_at(kLeft - 6, kTop + row * (static_cast<double>(i) + 0.8), "end", gantt.lanes[i]);
  }
  for (const Box& box : gantt.boxes) {
    svg += "<rect x=\"" + number(kLeft + box.from * scale, 2) + "\" y=\"" +
           number(kTop + row * static_cast<double>(box.lane)) + "\" width=\"" +
           number(std::max(0.4, (box.to - box.from) * scale), 2) + "\" height=\"" +
           number(row * 0.9) + "\" fill=\"" + colour(box.group) + "\"><title>" + escaped(box.name) +
           "</title></rect>\n";
  }
  for (const double tick : linear_ticks(most)) {
    svg += text_at(kLeft + tick * scale, kTop + row * rows + 16, "middle", tick_text(tick));
  }
  svg += text_at(width / 2, kTop + row * rows + 36, "middle", gantt.x);
  return svg + "</svg>\n";
}

}  // namespace berth::sim
