// Rows for people or for programs: an aligned table, or CSV.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth::cli {

/// A cell of CSV (RFC 4180): quoted where it holds a comma, a quote or a line end.
std::string csv_cell(const std::string& text);
/// Cells between commas, and a line end.
std::string csv_line(const std::vector<std::string>& cells);

/// `12.5`, without zeros behind: hours, or GiB-hours.
std::string hours_text(double hours);

/// Seconds since 1970 of `30d`, `12h` before now or of a day, `2026-11-01`, in local time. Errors:
/// InvalidArgument naming the text.
Expected<double> parse_since(const std::string& text, double now);

}  // namespace berth::cli
