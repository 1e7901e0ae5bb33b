// Goal: what a page offers to save is the drawing as a file of its own, and its numbers as CSV.
// Method: the links' addresses, read as a browser reads them.
#include "report/charts.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace berth::sim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What the link of this file has; "" without one.
std::string saved(const std::string& html, const std::string& file) {
  const std::size_t link = html.find("download=\"" + file + "\"");
  const std::size_t comma = html.find("utf-8,", link);
  if (link == html.npos || comma == html.npos) return "";
  const std::size_t from = comma + 6;
  const std::string address = html.substr(from, html.find('"', from) - from);
  std::string text;
  for (std::size_t at = 0; at < address.size(); ++at) {
    if (address[at] != '%') {
      text += address[at];
      continue;
    }
    text += static_cast<char>(std::strtol(address.substr(at + 1, 2).c_str(), nullptr, 16));
    at += 2;
  }
  return text;
}

TEST(Figures, OfLinesAreSavedWithTheirNumbers) {
  const std::vector<Line> lines = {{"sjf, \"fast\"", {{0.5, 10}, {2, 100}}}, {"fifo", {{1, 100}}}};
  const std::string html =
      line_figure({.title = "Wait, 5 %", .x = "minutes", .y = "% of jobs"}, lines);
  EXPECT_EQ(saved(html, "wait-5.csv"),
            "name,minutes,% of jobs\n\"sjf, \"\"fast\"\"\",0.5,10\n\"sjf, \"\"fast\"\"\",2,100\n"
            "fifo,1,100\n");
  EXPECT_THAT(saved(html, "wait-5.svg"), StartsWith("<svg xmlns="));
  EXPECT_THAT(saved(html, "wait-5.svg"), HasSubstr("sjf, &quot;fast&quot;"));
}

TEST(Figures, OfBarsAndBoxesToo) {
  const std::vector<Bar> bars = {{"ann", 3.25, "3.3 h"}};
  EXPECT_EQ(saved(bar_figure("By user", bars), "by-user.csv"), "name,value\nann,3.25\n");
  const Gantt gantt{.title = "Where",
                    .lanes = {"GPU 0"},
                    .boxes = {{.lane = 0, .from = 1, .to = 2.5, .group = 0, .name = "a"}},
                    .x = "hours"};
  EXPECT_EQ(saved(gantt_figure(gantt), "where.csv"),
            "lane,from_hours,to_hours,name\nGPU 0,1,2.5,a\n");
}

}  // namespace
}  // namespace berth::sim
