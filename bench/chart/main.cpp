// Charts of cost against size, out of the figures of bench/run.
//
//   bench_chart FIGURES.json CHART.svg
//
// Both axes of a panel are logarithmic, so that a cost that does not grow is a flat line and one
// that grows with the queue rises by a decade for each of its. A dashed line is the target. Rows
// that are not among the figures are left out; with none of them nothing is drawn.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Series {
  const char* name;
  const char* rows;     ///< `scale/queue/equal_environments`: a size follows.
  const char* counter;  ///< Of these rows.
};

struct Panel {
  const char* title;
  const char* unit;
  double target;  ///< 0: none.
  std::vector<Series> series;
};

const std::vector<Panel>& panels() {
  constexpr const char* kEqual = "scale/queue/equal_environments";
  constexpr const char* kDistinct = "scale/queue/distinct_environments";
  const auto both = [&](const char* counter) {
    return std::vector<Series>{{"equal environments", kEqual, counter},
                               {"one of its own each", kDistinct, counter}};
  };
  static const std::vector<Panel> all = {
      {"Memory of berthd", "MiB", 1024, both("rss_mib")},
      {"berth ls, until its first page, p50", "ms", 20, both("ls_p50_ms")},
      {"A submit, p50, over one beside it with 1,000 queued", "x", 1.3,
       both("submit_32_ratio_p50")},
      {"Restart after SIGKILL, until it answers", "ms", 5000, both("restart_ms")},
      {"One decision of headroom, 1,000 GPUs, p99",
       "us",
       1000,
       {{"queue is blocked", "decide/headroom/least-shared/gpus:1000/users:20", "p99_us"}}},
      {"Journal on disk", "MiB", 0, both("database_mib")},
      {"A replay at 95 % load, per job, a GPU for each 100",
       "us",
       0,
       {{"fifo-skip", "growth/fifo_skip", "us_per_job"}, {"srtf", "growth/srtf", "us_per_job"}}},
  };
  return all;
}

struct Point {
  double size;
  double value;
};

/// Of the rows `NAME/SIZE/...`, ascending by size.
std::vector<Point> points_of(const Json& figures, const Series& series) {
  std::vector<Point> points;
  const std::string prefix = std::string(series.rows) + "/";
  for (const auto& program : figures) {
    if (!program.contains("benchmarks")) continue;
    for (const Json& row : program["benchmarks"]) {
      const std::string name = row.at("name");
      if (!name.starts_with(prefix) || !row.contains(series.counter)) continue;
      points.push_back({std::stod(name.substr(prefix.size())), row[series.counter]});
    }
  }
  std::ranges::sort(points, {}, &Point::size);
  return points;
}

constexpr double kWidth = 430;
constexpr double kHeight = 250;
constexpr double kLeft = 62;
constexpr double kRight = 24;
constexpr double kTop = 52;
constexpr double kBottom = 36;
constexpr double kFirst = 1e3;  ///< Sizes, from the left edge to the right one.
constexpr double kLast = 1e6;
constexpr std::array kColours = {"#1f6fb4", "#d9662b"};
constexpr const char* kAxis = "#9aa4b0";

std::string number(double value) {
  std::array<char, 32> text{};
  const int places = value >= 100 ? 0 : (value >= 10 ? 1 : 2);
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

std::string plain(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::string size_text(double size) {
  if (size >= 1e6) return number(size / 1e6).substr(0, 1) + " M";
  return std::to_string(static_cast<int>(size / 1e3)) + " k";
}

/// One panel in a coordinate system of its own.
class Drawing {
 public:
  explicit Drawing(double least, double most)
      : low_(std::floor(std::log10(least))), high_(std::ceil(std::log10(most))) {
    if (high_ <= low_) high_ = low_ + 1;
  }

  void frame(const Panel& panel) {
    text(kLeft, 20, panel.title, R"(font-weight="600")");
    for (double decade = low_; decade <= high_; ++decade) {
      line(kFirst, decade, kLast, decade, R"(stroke="#e3e7ec")");
      text(kLeft - 8, y(decade) + 4, plain(std::pow(10, decade)),
           R"(text-anchor="end" fill="#5b6673")");
    }
    for (double size = kFirst; size <= kLast; size *= 10) {
      text(x(size), kHeight - kBottom + 18, size_text(size),
           R"(text-anchor="middle" fill="#5b6673")");
    }
    text(kLeft - 8, kTop - 10, panel.unit, R"(text-anchor="end" fill="#5b6673")");
    line(kFirst, low_, kLast, low_, std::string("stroke=\"") + kAxis + "\"");
    if (panel.target > 0) target(panel.target);
  }

  void series(const std::vector<Point>& points, const char* colour) {
    std::string path;
    for (const Point& point : points) {
      const double at = std::log10(point.value);
      path += (path.empty() ? "M" : "L") + number(x(point.size)) + " " + number(y(at)) + " ";
      out_ << "<circle cx=\"" << number(x(point.size)) << "\" cy=\"" << number(y(at))
           << "\" r=\"3\" fill=\"" << colour << "\"/>\n";
    }
    out_ << "<path d=\"" << path << "\" fill=\"none\" stroke-width=\"1.6\" stroke=\"" << colour
         << "\"/>\n";
  }

  /// The series' name, and the value of its last point.
  void legend(const std::vector<Point>& points, const Series& series, std::size_t number_of_it) {
    const std::string colour = kColours[number_of_it % kColours.size()];
    text(kLeft + static_cast<double>(number_of_it) * 190, 38,
         std::string(series.name) + ": " + number(points.back().value), "fill=\"" + colour + "\"");
  }

  std::string svg() const { return out_.str(); }

 private:
  static double x(double size) {
    const double part = std::log10(size / kFirst) / std::log10(kLast / kFirst);
    return kLeft + part * (kWidth - kLeft - kRight);
  }
  double y(double decade) const {
    const double part = (decade - low_) / (high_ - low_);
    return kHeight - kBottom - part * (kHeight - kBottom - kTop);
  }

  void target(double value) {
    const double at = std::log10(value);
    if (at < low_ || at > high_) return;
    line(kFirst, at, kLast, at, R"(stroke="#b3261e" stroke-dasharray="5 4")");
    text(kWidth - kRight, y(at) - 4, "target " + plain(value),
         R"(text-anchor="end" fill="#b3261e")");
  }

  void line(double from, double from_decade, double to, double to_decade,
            const std::string& style) {
    out_ << "<line x1=\"" << number(x(from)) << "\" y1=\"" << number(y(from_decade)) << "\" x2=\""
         << number(x(to)) << "\" y2=\"" << number(y(to_decade)) << "\" " << style << "/>\n";
  }

  void text(double left, double base, const std::string& what, const std::string& style) {
    out_ << "<text x=\"" << number(left) << "\" y=\"" << number(base) << "\" " << style << ">"
         << what << "</text>\n";
  }

  std::ostringstream out_;
  double low_;
  double high_;
};

/// "" where no row of it was measured.
std::string panel_svg(const Json& figures, const Panel& panel) {
  std::vector<std::vector<Point>> all;
  double least = panel.target > 0 ? panel.target : HUGE_VAL;
  double most = panel.target;
  for (const Series& series : panel.series) {
    all.push_back(points_of(figures, series));
    for (const Point& point : all.back()) {
      least = std::min(least, point.value);
      most = std::max(most, point.value);
    }
  }
  if (std::ranges::all_of(all, &std::vector<Point>::empty)) return "";
  Drawing drawing(least, most);
  drawing.frame(panel);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    drawing.series(all[i], kColours[i % kColours.size()]);
    drawing.legend(all[i], panel.series[i], i);
  }
  return drawing.svg();
}

/// Two panels in a row.
std::string chart(const Json& figures) {
  std::ostringstream body;
  int count = 0;
  for (const Panel& panel : panels()) {
    const std::string svg = panel_svg(figures, panel);
    if (svg.empty()) continue;
    body << "<g transform=\"translate(" << number(count % 2 * kWidth) << " "
         << number(count / 2 * kHeight) << ")\">\n"
         << svg << "</g>\n";
    ++count;
  }
  if (count == 0) return "";
  std::ostringstream all;
  all << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << number(2 * kWidth)
      << "\" height=\"" << number((count + 1) / 2 * kHeight)
      << "\" font-family=\"system-ui, sans-serif\" font-size=\"11\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      << body.str() << "</svg>\n";
  return all.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "bench_chart: needs FIGURES.json and CHART.svg\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  const Json figures = Json::parse(file, nullptr, false);
  if (figures.is_discarded() || !figures.is_object()) {
    std::fprintf(stderr, "bench_chart: %s: no figures of bench/run\n", argv[1]);
    return 1;
  }
  const std::string svg = chart(figures);
  if (svg.empty()) return 0;
  std::ofstream drawn(argv[2]);
  drawn << svg;
  drawn.close();
  if (drawn) return 0;
  std::fprintf(stderr, "bench_chart: %s: cannot be written\n", argv[2]);
  return 1;
}
