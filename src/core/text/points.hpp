// Sweeps: arrays whose tasks have parameters. A task's parameters with their values are its point;
// they stand behind its name, as `train[3] lr=0.1 note='two words'`, and so in every list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/conditions.hpp"

namespace berth {

struct Parameter {
  std::string name;
  std::string value;

  bool operator==(const Parameter&) const = default;
};
using Point = std::vector<Parameter>;

/// Letters, digits and `_`, and no digit first: a variable may have such a name.
bool is_parameter_name(std::string_view name);

/// `lr=0.1 note='two words'`.
std::string point_text(const Point& point);
/// Nothing for text that point_text() does not write.
std::optional<Point> parse_point(std::string_view text);

/// The word with values for `{lr}`, and with `{lr}` for `{{lr}}`. What else stands in braces, what
/// a `$` stands before, and names that are none of the point's stay as they are.
std::string filled(std::string_view word, const Point& point);
/// All of them; none changes without a point.
void fill(std::vector<std::string>& words, const Point& point);
/// The names that filled() would look for, each as often as it is there.
std::vector<std::string> placeholders(std::string_view word);

/// The first of the command's placeholders that is none of these: `{sed} is no parameter; did you
/// mean seed? ...`; "" if there is none.
std::string fault_of_placeholders(const std::vector<std::string>& command,
                                  const std::vector<std::string>& parameters);

/// `train[3]`, with the point's text behind it unless that is "".
std::string task_name(std::string_view array, std::int64_t task, std::string_view point);
/// The point that stands behind the name of a task; none for a job of no sweep.
Point point_of(std::string_view name, const ArrayPlace& place);
/// `train[3]` of `train[3] lr=0.1`: what others may see of it where arguments are hidden.
std::string without_point(const std::string& name, const ArrayPlace& place);

}  // namespace berth
