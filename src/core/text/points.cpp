#include "core/text/points.hpp"

#include <algorithm>

#include "core/base/limits.hpp"
#include "core/base/suggest.hpp"
#include "core/text/handle.hpp"
#include "core/text/text.hpp"

namespace berth {

namespace {

bool may_begin_name(char c) { return is_letter(c) || c == '_'; }
bool may_be_in_name(char c) { return may_begin_name(c) || is_digit(c); }

/// The name between the brace at `at` and the next; "" for anything else.
std::string_view name_in_braces(std::string_view word, std::size_t at) {
  const std::size_t close = word.find('}', at);
  if (word.substr(at, 1) != "{" || close == word.npos) return "";
  const std::string_view name = word.substr(at + 1, close - at - 1);
  return is_parameter_name(name) ? name : "";
}

/// What stands between two placeholders.
struct Piece {
  std::string text;       ///< Before the name.
  std::string_view name;  ///< "": the word ends.
};

/// The next piece; `word` is then what follows it.
Piece next_piece(std::string_view& word) {
  Piece piece;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const bool is_shells = at > 0 && word[at - 1] == '$';
    const std::string_view doubled = is_shells ? "" : name_in_braces(word, at + 1);
    const std::string_view name = is_shells ? "" : name_in_braces(word, at);
    const std::size_t behind = at + doubled.size() + 3;
    if (word[at] == '{' && !doubled.empty() && word.substr(behind, 1) == "}") {
      piece.text.append(word, at + 1, doubled.size() + 2);
      at = behind;
    } else if (!name.empty()) {
      piece.name = name;
      word.remove_prefix(at + name.size() + 2);
      return piece;
    } else {
      piece.text += word[at];
    }
  }
  word = {};
  return piece;
}

/// A shell's word as shell_quoted() writes it, from `text`, which is then what follows it.
std::string unquoted(std::string_view& text) {
  std::string word;
  bool is_quoted = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_quoted || text[at] != ' '); ++at) {
    if (text[at] == '\'') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text[at] == '\\' && at + 1 < text.size()) {
      word += text[++at];
    } else {
      word += text[at];
    }
  }
  text.remove_prefix(at);
  return word;
}

}  // namespace

bool is_parameter_name(std::string_view name) {
  return !name.empty() && may_begin_name(name.front()) && std::ranges::all_of(name, may_be_in_name);
}

std::string point_text(const Point& point) {
  std::string text;
  for (const Parameter& parameter : point) {
    text += (text.empty() ? "" : " ") + parameter.name + "=" + shell_quoted(parameter.value);
  }
  return text;
}

std::optional<Point> parse_point(std::string_view text) {
  Point point;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t equals = rest.find('=');
    const std::string name(rest.substr(0, equals));
    if (equals == rest.npos || !is_parameter_name(name)) return std::nullopt;
    rest.remove_prefix(equals + 1);
    point.push_back({.name = name, .value = unquoted(rest)});
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return point_text(point) == text ? std::optional(point) : std::nullopt;
}

std::string filled(std::string_view word, const Point& point) {
  std::string text;
  while (!word.empty()) {
    const Piece piece = next_piece(word);
    text += piece.text;
    if (piece.name.empty()) continue;
    const auto found = std::ranges::find(point, piece.name, &Parameter::name);
    text += found == point.end() ? "{" + std::string(piece.name) + "}" : found->value;
  }
  return text;
}

void fill(std::vector<std::string>& words, const Point& point) {
  if (point.empty()) return;
  for (std::string& word : words) word = filled(word, point);
}

std::vector<std::string> placeholders(std::string_view word) {
  std::vector<std::string> names;
  while (!word.empty()) {
    const Piece piece = next_piece(word);
    if (!piece.name.empty()) names.emplace_back(piece.name);
  }
  return names;
}

std::string fault_of_placeholders(const std::vector<std::string>& command,
                                  const std::vector<std::string>& parameters) {
  for (const std::string& word : command) {
    for (const std::string& name : placeholders(word)) {
      if (std::ranges::find(parameters, name) != parameters.end()) continue;
      const std::string shown = name.substr(0, limits::kMostLabel);
      return "{" + shown + "} in the command is no parameter" + did_you_mean(name, parameters) +
             "; write {{" + shown + "}} for the text as it is";
    }
  }
  return "";
}

std::string task_name(std::string_view array, std::int64_t task, std::string_view point) {
  return std::string(array) + "[" + std::to_string(task) + "]" + (point.empty() ? "" : " ") +
         std::string(point);
}

Point point_of(std::string_view name, const ArrayPlace& place) {
  const std::size_t before = array_name(name, place).size();
  const std::size_t behind = before + task_name("", place.task, "").size();
  if (place.tasks == 0 || behind >= name.size()) return {};
  return parse_point(name.substr(behind + 1)).value_or(Point());
}

std::string without_point(const std::string& name, const ArrayPlace& place) {
  if (point_of(name, place).empty()) return name;
  return task_name(array_name(name, place), place.task, "");
}

}  // namespace berth
