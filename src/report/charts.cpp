#include "report/charts.hpp"

#include <cctype>
#include <cstdio>
#include <string_view>

namespace berth::sim {

namespace {

/// As a `data:` address in an attribute: everything but letters, digits and what means nothing
/// there is `%41`.
std::string in_address(std::string_view text) {
  constexpr std::string_view kPlain = " -_.,:;=()/!*";
  std::string address;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kPlain.contains(c)) {
      address += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", byte);
      address += code;
    }
  }
  return address;
}

/// `wait-until-the-start`.
std::string file_name(std::string_view title) {
  std::string name;
  for (const char c : title) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

/// Quoted where a reader of CSV needs it.
std::string in_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// As exact as a table of results needs.
std::string in_csv(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

struct Saved {
  const std::string& title;
  const std::string& svg;
  const std::string& csv;
};

enum class Width { Half, Whole };

std::string figure_of(const Saved& saved, Width width = Width::Half) {
  const std::string name = file_name(saved.title);
  const auto link = [&](const char* ending, const char* type, const std::string& text) {
    return "<a download=\"" + name + "." + ending + "\" href=\"data:" + type + ";charset=utf-8," +
           in_address(text) + "\">" + (ending == std::string_view("svg") ? "SVG" : "CSV") + "</a>";
  };
  return std::string("<figure") + (width == Width::Whole ? " class=\"wide\"" : "") + ">\n" +
         saved.svg + "<figcaption>" + link("svg", "image/svg+xml", standalone(saved.svg)) +
         link("csv", "text/csv", saved.csv) + "</figcaption>\n</figure>\n";
}

std::string heads_of(const Axes& axes) {
  return "name," + in_csv(axes.x) + "," + in_csv(axes.y) + "\n";
}

std::string row_of(const std::string& name, const Point& point) {
  return in_csv(name) + "," + in_csv(point.x) + "," + in_csv(point.y) + "\n";
}

}  // namespace

std::string line_figure(const Axes& axes, std::span<const Line> lines) {
  std::string csv = heads_of(axes);
  for (const Line& line : lines) {
    for (const Point& point : line.points) csv += row_of(line.name, point);
  }
  return figure_of({.title = axes.title, .svg = line_chart(axes, lines), .csv = csv});
}

std::string trade_off_figure(const Axes& axes,
                             std::span<const std::pair<std::string, Point>> dots) {
  std::string csv = heads_of(axes);
  for (const auto& [name, dot] : dots) csv += row_of(name, dot);
  return figure_of({.title = axes.title, .svg = trade_off_chart(axes, dots), .csv = csv});
}

std::string agreement_figure(const Axes& axes, std::span<const Point> points) {
  std::string csv = in_csv(axes.x) + "," + in_csv(axes.y) + "\n";
  for (const Point& point : points) csv += in_csv(point.x) + "," + in_csv(point.y) + "\n";
  return figure_of({.title = axes.title, .svg = agreement_chart(axes, points), .csv = csv});
}

std::string bar_figure(const std::string& title, std::span<const Bar> bars) {
  std::string csv = "name,value\n";
  for (const Bar& bar : bars) csv += in_csv(bar.name) + "," + in_csv(bar.value) + "\n";
  return figure_of({.title = title, .svg = bar_chart(title, bars), .csv = csv});
}

std::string gantt_figure(const Gantt& gantt) {
  std::string csv = "lane,from_" + file_name(gantt.x) + ",to_" + file_name(gantt.x) + ",name\n";
  for (const Box& box : gantt.boxes) {
    csv += in_csv(gantt.lanes[box.lane]) + "," + in_csv(box.from) + "," + in_csv(box.to) + "," +
           in_csv(box.name) + "\n";
  }
  return figure_of({.title = gantt.title, .svg = gantt_chart(gantt), .csv = csv}, Width::Whole);
}

}  // namespace berth::sim
