// Goal: no text of a sweep makes its readers crash or hang, and what they take is a sweep: every
// point has a value for each name, its text behind a task's name is read again, and so are the
// values if they are written in quotes.
// Method: the first byte chooses `--param`, a table or a list of commands.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job/sweep.hpp"
#include "core/base/assert.hpp"
#include "core/text/points.hpp"

namespace {

using namespace berth;
using cli::Sweep;

std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

void check_points(const Sweep& sweep) {
  BERTH_ASSERT(!sweep.names.empty() && !sweep.points.empty());
  for (const auto& values : sweep.points) {
    BERTH_ASSERT(values.size() == sweep.names.size());
    Point point;
    for (std::size_t i = 0; i < values.size(); ++i) point.push_back({sweep.names[i], values[i]});
    BERTH_ASSERT(parse_point(point_text(point)) == point);
    (void)filled("{" + sweep.names.front() + "} {{x}} ${y}", point);
  }
}

void read_param(std::string_view text) {
  const auto sweep = cli::parse_param(text);
  if (!sweep) return;
  check_points(*sweep);
  std::string written = sweep->names.front() + "=";
  for (const auto& values : sweep->points) written += in_quotes(values.front()) + ",";
  written.pop_back();
  const auto again = cli::parse_param(written);
  BERTH_ASSERT(again && again->points == sweep->points);
}

void read_table(std::string_view text) {
  const auto sweep = cli::parse_points(text, "fuzz");
  if (!sweep) return;
  check_points(*sweep);
  std::string written;
  const auto add = [&](const std::vector<std::string>& row, bool is_quoted) {
    for (const std::string& cell : row) written += (is_quoted ? in_quotes(cell) : cell) + ",";
    written.back() = '\n';
  };
  add(sweep->names, false);
  for (const auto& values : sweep->points) add(values, true);
  const auto again = cli::parse_points(written, "again");
  BERTH_ASSERT(again && again->names == sweep->names && again->points == sweep->points);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) read_param(text);
  if (data[0] % 3 == 1) read_table(text);
  if (data[0] % 3 == 2) {
    if (const auto sweep = cli::parse_lines(text, "fuzz")) check_points(*sweep);
  }
  return 0;
}
