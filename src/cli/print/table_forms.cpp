#include "cli/print/table_forms.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "cli/print/amounts.hpp"

namespace berth::cli {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\n";
}

std::string hours_text(double hours) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), hours >= 100.0 ? "%.0f" : "%.2f", hours);
  return text.data();
}

Expected<double> parse_since(const std::string& text, double now) {
  if (text == "all") return 0.0;
  std::tm day{};
  int used = 0;
  const int fields =
      std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &used);
  if (fields == 3 && static_cast<std::size_t>(used) == text.size() && day.tm_mon >= 1 &&
      day.tm_mon <= 12 && day.tm_mday >= 1 && day.tm_mday <= 31 && day.tm_year >= 1970) {
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    day.tm_isdst = -1;
    return static_cast<double>(std::mktime(&day));
  }
  const auto before = parse_duration(text);
  if (before) return std::max(0.0, now - static_cast<double>(micros(*before)) / 1e6);
  const bool is_date = text.find_first_not_of("0123456789./") == text.npos && !text.empty();
  const char* const meant = text == "yesterday" ? "; say 1d, or the day"
                            : text == "today"   ? "; say 24h, or the day"
                            : is_date           ? "; a day is written year first, as 2026-11-01"
                                                : "";
  return fail(ErrorCode::InvalidArgument,
              "--since " + text +
                  ": is neither a day such as 2026-11-01 nor a time such as 30d, nor all" + meant);
}

}  // namespace berth::cli
