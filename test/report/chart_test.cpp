// Goal: charts show what they are given, whatever it is.
// Method: charts of known and of degenerate data, looked into as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "report/charts.hpp"

namespace berth::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, NothingToDrawIsStillAChart) {
  const std::vector<Line> lines = {{.name = "empty", .points = {}}};
  for (const Scale scale : {Scale::Linear, Scale::Log}) {
    const std::string svg = line_chart({.title = "t", .x = "x", .y = "y", .scale_x = scale}, lines);
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
  EXPECT_THAT(gantt_chart({}), Not(HasSubstr("nan")));
  EXPECT_THAT(bar_chart("t", {}), Not(HasSubstr("nan")));
}

TEST(Chart, OnALogScaleZeroIsLeftOut) {
  const std::vector<Line> lines = {{.name = "l", .points = {{0, 1}, {10, 50}, {1000, 100}}}};
  const std::string svg =
      line_chart({.title = "t", .x = "x", .y = "y", .scale_x = Scale::Log}, lines);
  EXPECT_THAT(svg, HasSubstr(">1000<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Chart, SeveralLinesHaveALegend) {
  const std::vector<Line> lines = {{.name = "one", .points = {{0, 1}}},
                                   {.name = "two & three", .points = {{1, 2}}}};
  EXPECT_THAT(line_chart({}, lines), HasSubstr("two &amp; three"));
  EXPECT_THAT(line_chart({}, std::span(lines).first(1)), Not(HasSubstr("one<")));
}

TEST(Chart, NoTwoOfTwentyFiveLinesLookAlike) {
  std::vector<Line> lines(25, {.name = "l", .points = {{0, 1}}});
  const std::string svg = line_chart({}, lines);
  std::set<std::string> looks;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1)) {
    looks.insert(svg.substr(at, svg.find(" points", at) - at));
  }
  EXPECT_EQ(looks.size(), lines.size());
}

TEST(Chart, AgreementHasTheSameRangeOnBothAxes) {
  const Axes axes{.title = "t", .scale_x = Scale::Log, .scale_y = Scale::Log};
  const std::vector<Point> far = {{1, 1000}, {0, 5}};
  const std::string svg = agreement_chart(axes, far);
  EXPECT_EQ(svg.find("<circle"), svg.rfind("<circle")) << "zero is on no log scale";
  EXPECT_NE(svg.find(">1000<"), svg.rfind(">1000<")) << "on both axes";
  for (const auto& points : {std::vector<Point>{}, {{0, 0}}, {{1, 1}}}) {
    EXPECT_THAT(agreement_chart(axes, points), Not(HasSubstr("nan")));
    EXPECT_THAT(agreement_chart({}, points), Not(HasSubstr("nan")));
    EXPECT_THAT(agreement_chart(axes, points), Not(HasSubstr("inf")));
  }
}

TEST(Chart, LinesThatAreZeroOrAllTheSameTellNothing) {
  const Axes axes;
  const Line rising = {.name = "a", .points = {{0, 0}, {1, 100}}};
  const Line near = {.name = "b", .points = {{0, 1}, {1, 99}}};
  const Line other = {.name = "c", .points = {{0, 0}, {1, 98}}};
  const Line longer = {.name = "d", .points = {{0, 0}, {1, 100}, {1, 100}}};
  const Line zero = {.name = "e", .points = {{0, 0}, {1, 0}}};
  const auto tell = [&](std::vector<Line> lines) { return is_telling(axes, lines); };
  EXPECT_TRUE(tell({rising})) << "one has nothing to be the same as";
  EXPECT_FALSE(tell({rising, near}));
  EXPECT_FALSE(tell({rising, near, rising}));
  EXPECT_TRUE(tell({rising, near, other}));
  EXPECT_TRUE(tell({rising, longer}));
  EXPECT_TRUE(tell({rising, zero}));
  EXPECT_FALSE(tell({zero}));
  EXPECT_FALSE(tell({zero, zero}));
  EXPECT_FALSE(tell({}));
  const std::vector<Line> at_zero = {{.name = "f", .points = {{0, 50}, {0, 100}}}};
  EXPECT_TRUE(is_telling({}, at_zero));
  EXPECT_FALSE(is_telling({.scale_x = Scale::Log}, at_zero)) << "no point is drawn";
}

TEST(Chart, DotsThatDifferInOneWayOnlyTradeNothing) {
  const auto tell = [](std::vector<std::pair<std::string, Point>> dots) {
    return is_telling(dots);
  };
  EXPECT_TRUE(tell({{"a", {1, 2}}, {"b", {2, 1}}}));
  EXPECT_FALSE(tell({{"a", {1, 100}}, {"b", {2, 99}}}));
  EXPECT_FALSE(tell({{"a", {1, 0}}, {"b", {2, 0}}}));
  EXPECT_FALSE(tell({{"a", {5, 1}}, {"b", {5, 2}}}));
  EXPECT_FALSE(tell({{"a", {1, 2}}})) << "one trades nothing for nothing";
  EXPECT_FALSE(tell({}));
}

TEST(Chart, ASectionNamesWhatItDoesNotDraw) {
  Charts charts;
  charts.add(Axes{.title = "drawn"}, std::vector<Line>{{.name = "l", .points = {{0, 1}, {1, 2}}}});
  EXPECT_THAT(charts.html(), Not(HasSubstr("Not drawn")));
  charts.add(Axes{.title = "A"}, std::vector<Line>{});
  charts.add(Axes{.title = "B & C"}, std::vector<std::pair<std::string, Point>>{});
  EXPECT_THAT(charts.html(), HasSubstr("<p>Not drawn, because all values are zero or within 1 % of "
                                       "each other: A; B &amp; C.</p>"));
  EXPECT_EQ(charts.html().find("<svg"), charts.html().rfind("<svg"));
}

TEST(Chart, TheFrontJoinsWhatNothingBeats) {
  const std::vector<std::pair<std::string, Point>> dots = {
      {"cheap", {10, 1}}, {"fast", {1, 10}}, {"beaten", {11, 11}}};
  const std::string svg = trade_off_chart({}, dots);
  const std::size_t from = svg.find("<polyline");
  const std::string front = svg.substr(from, svg.find("/>", from) - from);
  EXPECT_EQ(std::count(front.begin(), front.end(), ','), 2) << "two points";
}

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++times;
  return times;
}

TEST(DotChart, HasAColumnForEachNameAndADotForEachKnownValue) {
  const std::vector<Dots> dots = {
      {.name = "one", .at = {Ranged{2, 1, 4}, std::nullopt}},
      {.name = "two", .at = {Ranged{3, 3, 3}, Ranged{INFINITY, NAN, NAN}}}};
  const std::string svg =
      dot_chart({.title = "t", .y = "y", .names = {"8x8 whole", "last"}, .mark = 1}, dots);
  EXPECT_EQ(times_in(svg, "<circle"), 2U);
  for (const char* word : {">8x8<", ">whole<", ">last<", ">one<", ">two<"}) {
    EXPECT_THAT(svg, HasSubstr(word));
  }
  EXPECT_EQ(times_in(svg, "<polyline"), 1U) << "the mark";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(DotChart, AnIntervalThatIsFarOutIsCutAtTheAxis) {
  for (const Scale scale : {Scale::Linear, Scale::Log}) {
    const std::vector<Dots> dots = {{.name = "one", .at = {Ranged{2, -50, 1000}}}};
    const std::string svg = dot_chart({.y = "y", .scale_y = scale, .names = {"a"}}, dots);
    EXPECT_THAT(svg, Not(HasSubstr(">1000<")));
    EXPECT_THAT(svg, Not(HasSubstr("y2=\"-")));
  }
}

TEST(Standalone, IsAFileOfItsOwn) {
  const std::string svg = standalone(dot_chart({.title = "a > b", .names = {}}, {}));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox"));
  EXPECT_THAT(svg, HasSubstr("<style>"));
}

}  // namespace
}  // namespace berth::sim
