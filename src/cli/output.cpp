#include "cli/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/characters.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kNarrowest = 20;

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::None:
      return "0";
    case Colour::Bold:
      return "1";
    case Colour::Dim:
      return "2";
    case Colour::Red:
      return "31";
    case Colour::Green:
      return "32";
    case Colour::Yellow:
      return "33";
    case Colour::Blue:
      return "34";
    case Colour::Magenta:
      return "35";
  }
  return "0";
}

bool wants_colour() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::strcmp(kind, "dumb") == 0;
  return (refused == nullptr || *refused == '\0') && !dumb;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t have = columns_of(text);
  const std::string gap(width > have ? width - have : 0, ' ');
  return align == Align::Left ? text + gap : gap + text;
}

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

Look look_of(int descriptor) {
  if (isatty(descriptor) == 0) return {};
  Look look{.terminal = true, .colour = wants_colour()};
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  look.width = std::max<std::size_t>(known ? size.ws_col : 80, kNarrowest);
  return look;
}

std::string painted(std::string_view text, Colour colour, const Look& look) {
  if (!look.colour || colour == Colour::None || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code_of(colour)) + "m" + std::string(text) + "\x1b[0m";
}

std::string printable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Character next = first_character(text);
    clean.append(next.code && !is_unsafe(*next.code) ? text.substr(0, next.bytes) : "?");
    text.remove_prefix(next.bytes);
  }
  return clean;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    columns += next.code ? columns_of(*next.code) : 1;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    used += next.code ? columns_of(*next.code) : 1;
    if (used >= columns) break;
    at += next.bytes;
  }
  return std::string(text.substr(0, at)) + "…";
}

void Table::widen() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths_[i] = std::max(widths_[i], columns_of(row[i].text));
  }
}

std::string Table::line_of(const std::vector<Cell>& row, const Look& look) const {
  std::string line;
  std::size_t before = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    std::string cell = row[i].text;
    if (last && look.width) cell = cut(cell, *look.width > before ? *look.width - before : 0);
    const bool pads = !last || columns_[i].align == Align::Right;
    line += painted(pads ? padded(cell, widths_[i], columns_[i].align) : cell, row[i].colour, look);
    if (!last) line += "  ";
    before += widths_[i] + 2;
  }
  trim_end(line);
  return line + "\n";
}

std::string Table::text(const Look& look) {
  std::string text;
  const bool is_first = widths_.empty();
  for (const Column& column : columns_) {
    if (is_first) widths_.push_back(columns_of(column.title));
  }
  widen();
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Colour::Bold});
  if (is_first) text = line_of(titles, look);
  for (const auto& row : rows_) text += line_of(row, look);
  rows_.clear();
  return text;
}

void Page::line(const std::string& key, const std::string& value, Colour colour) {
  if (value.empty() || value == "-") return;
  const std::string gap(key.size() < 14 ? 14 - key.size() : 1, ' ');
  text_ += painted(key, Colour::Bold, look_) + gap + painted(value, colour, look_) + "\n";
}

void Page::block(const std::string& title, const std::string& lines) {
  if (!lines.empty()) text_ += "\n" + painted(title, Colour::Bold, look_) + "\n" + lines;
}

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  return report_failure(std::string("standard output: ") + std::strerror(errno));
}

}  // namespace berth::cli
