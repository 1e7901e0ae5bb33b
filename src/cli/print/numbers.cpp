#include "cli/print/numbers.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

namespace berth::cli {

namespace {

/// The whole text as a number.
template <class Number>
std::optional<Number> whole_text_as(const std::string& text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_all ? std::optional(number) : std::nullopt;
}

std::string shown(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const std::string range = "from " + std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto number = whole_text_as<std::uint64_t>(text);
        if (number && *number >= least && *number <= most) return "";
        return "'" + text + "' is not a whole number " + range;
      },
      range, "whole number");
}

CLI::Validator decimal_number(double least, double most) {
  const std::string range = "from " + shown(least) + " to " + shown(most);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto number = whole_text_as<double>(text);
        if (number && std::isfinite(*number) && *number >= least && *number <= most) return "";
        return "'" + text + "' is not a number " + range;
      },
      range, "number");
}

}  // namespace berth::cli
