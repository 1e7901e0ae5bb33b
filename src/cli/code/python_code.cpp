#include "cli/code/python_code.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/split.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

bool begins_python_name(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_in_python_name(char c) { return begins_python_name(c) || is_digit(c); }

/// Of a string: `rb` of `rb'...'`; the size of what stands before its quote, or nothing.
std::optional<std::size_t> prefix_of_string(std::string_view text) {
  const std::size_t quote = text.find_first_not_of("rRbBuUfF");
  const bool is_string =
      quote <= 2 && quote < text.size() && std::string_view("\"'").contains(text[quote]);
  return is_string ? std::optional(quote) : std::nullopt;
}

std::optional<int> number_in_python(std::string_view text) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_one = failed == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_one ? std::optional(number) : std::nullopt;
}

}  // namespace

PythonCode::PythonCode(std::string_view text) { read(text); }

const PythonToken& PythonCode::operator[](std::size_t at) const {
  static const PythonToken kNone;
  return at < tokens_.size() ? tokens_[at] : kNone;
}

void PythonCode::read(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') ++line_;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (std::string_view(" \t\r\n\\").contains(c)) {
      ++at;
    } else if (prefix_of_string(text.substr(at))) {
      at = read_string(text, at);
    } else if (is_digit(c) || begins_python_name(c)) {
      std::size_t end = at;
      while (end < text.size() &&
             (is_in_python_name(text[end]) || (is_digit(c) && text[end] == '.'))) {
        ++end;
      }
      add(is_digit(c) ? PythonKind::Number : PythonKind::Name, text.substr(at, end - at));
      at = end;
    } else {
      const bool is_two = at + 1 < text.size() && text[at + 1] == '=' &&
                          std::string_view("=!<>:+-*/%|&^").contains(c);
      add_sign(text.substr(at, is_two ? 2 : 1));
      at += is_two ? 2 : 1;
    }
  }
}

std::size_t PythonCode::read_string(std::string_view text, std::size_t at) {
  at += *prefix_of_string(text.substr(at));
  const std::string three(3, text[at]);
  if (text.substr(at).starts_with(three)) {
    add(PythonKind::String, "");
    const std::size_t end = std::min(text.find(three, at + 3), text.size());
    line_ += static_cast<std::size_t>(std::ranges::count(text.substr(at, end - at), '\n'));
    return std::min(end + 3, text.size());
  }
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  end = std::min(end, text.size());
  add(PythonKind::String, text.substr(at + 1, end - at - 1));
  return end < text.size() && text[end] == '\n' ? end : end + 1;
}

void PythonCode::add(PythonKind kind, std::string_view text) {
  tokens_.push_back({.kind = kind,
                     .text = std::string(text),
                     .line = line_,
                     .opener = open_.empty() ? 0 : open_.back() + 1,
                     .closer = 0});
}

void PythonCode::add_sign(std::string_view text) {
  const bool closes = std::string_view(")]}").contains(text.front());
  if (closes && !open_.empty()) {
    tokens_[open_.back()].closer = tokens_.size() + 1;
    open_.pop_back();
  }
  add(PythonKind::Sign, text);
  if (std::string_view("([{").contains(text.front())) open_.push_back(tokens_.size() - 1);
}

std::string PythonCode::callee(std::size_t open) const {
  constexpr std::size_t kMostParts = 16;
  std::string name;
  for (std::size_t at = open; at-- > 0 && open - at <= kMostParts;) {
    const PythonToken& token = tokens_[at];
    const bool joins = token.kind == PythonKind::Name && (name.empty() || name.front() == '.');
    const bool is_dot = token.is(".") && !name.empty() && name.front() != '.';
    if (!joins && !is_dot) break;
    if (joins && (token.text == "in" || token.text == "return" || token.text == "if")) break;
    name.insert(0, token.text);
  }
  return name;
}

bool PythonCode::is_within(std::size_t at, const std::vector<std::string_view>& callees) const {
  constexpr int kMostNested = 64;
  std::size_t open = (*this)[at].opener;
  for (int depth = 0; open != 0 && depth < kMostNested; open = tokens_[open - 1].opener, ++depth) {
    const std::string name = callee(open - 1);
    const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
    if (std::ranges::find(callees, last) != callees.end()) return true;
    const bool is_defined =
        tokens_[open - 1].is("(") && open >= 3 && tokens_[open - 3].is_named("def");
    if (is_defined) return true;  // what a caller may say otherwise
  }
  return false;
}

bool PythonCode::is_whole_value(std::size_t at, std::size_t length) const {
  const PythonToken& before = (*this)[at - 1];  // at 0 is no value
  const PythonToken& after = (*this)[at + length];
  constexpr auto kBefore = std::to_array<std::string_view>({"=", ",", "(", "[", "{", ":"});
  constexpr auto kAfter = std::to_array<std::string_view>({",", ")", "]", "}", ";"});
  const auto is_one = [](const auto& signs, const PythonToken& token) {
    return token.kind == PythonKind::Sign && std::ranges::find(signs, token.text) != signs.end();
  };
  const bool begins = at == 0 || is_one(kBefore, before) || before.is_named("return");
  const bool is_last = at + length >= size();
  const bool ends_line = !is_last && after.line > (*this)[at + length - 1].line &&
                         (*this)[at].opener == 0 && !after.is("=");
  return begins && (is_last || ends_line || is_one(kAfter, after));
}

std::optional<PythonCode::Value> PythonCode::numbers_at(std::size_t at) const {
  const PythonToken& first = (*this)[at];
  Value value{.numbers = {}, .is_list = first.is("[") || first.is("("), .shown = first.text};
  std::size_t length = 1;
  if (value.is_list) {
    if (first.closer == 0) return std::nullopt;
    length = first.closer - at;
    value.shown.clear();
    std::string inside;
    for (std::size_t i = at; i < at + length; ++i) {
      if (i > at && i + 1 < at + length) inside += tokens_[i].text;
      value.shown += tokens_[i].text + (tokens_[i].is(",") ? " " : "");
      const bool may_be =
          tokens_[i].kind == PythonKind::Number || tokens_[i].kind == PythonKind::Sign;
      if (!may_be) return std::nullopt;
    }
    if (inside.ends_with(',')) inside.pop_back();
    auto numbers = listed_numbers(inside);
    if (!numbers) return std::nullopt;
    value.numbers = std::move(*numbers);
  } else if (first.kind == PythonKind::Number) {
    const auto number = number_in_python(first.text);
    if (!number) return std::nullopt;
    value.numbers.push_back(*number);
  } else if (first.kind == PythonKind::String) {
    auto numbers = listed_numbers(first.text);
    if (!numbers) return std::nullopt;
    value.is_list = true;
    value.shown = "\"" + first.text + "\"";
    value.numbers = std::move(*numbers);
  } else {
    return std::nullopt;
  }
  return is_whole_value(at, length) ? std::optional(std::move(value)) : std::nullopt;
}

std::optional<std::vector<int>> listed_numbers(std::string_view list) {
  constexpr std::size_t kMost = 64;
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  std::vector<int> numbers;
  while (!list.empty()) {
    std::string_view part = next_part(list, ',');
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    const auto number = number_in_python(part);
    if (!number || numbers.size() == kMost) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers.empty() ? std::nullopt : std::optional(std::move(numbers));
}

}  // namespace berth::cli
