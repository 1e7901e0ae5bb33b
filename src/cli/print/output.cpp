#include "cli/print/output.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cli/print/characters.hpp"
#include "cli/print/verbs.hpp"

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

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t have = columns_of(text);
  const std::string gap(width > have ? width - have : 0, ' ');
  return align == Align::Left ? text + gap : gap + text;
}

void leave_with_reader() {
  std::thread([] {
    pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    while (poll(&out, 1, -1) < 0) {
    }
    if ((out.revents & POLLNVAL) != 0) return;  // it has none
    std::raise(SIGPIPE);
    _exit(kFailed);  // that was to be ignored
  }).detach();
}

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

namespace {

/// What needs no look at its characters: most of all texts.
bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string printable(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string clean;
  while (!text.empty()) {
    const Character next = first_character(text);
    clean.append(next.code && !is_unsafe(*next.code) ? text.substr(0, next.bytes) : "?");
    text.remove_prefix(next.bytes);
  }
  return clean;
}

std::size_t columns_of(std::string_view text) {
  if (is_plain_ascii(text)) return text.size();
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

namespace {

/// The bytes of the longest beginning of `text` that takes at most so many columns; at least one
/// character.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    used += next.code ? columns_of(*next.code) : 1;
    if (used > columns && at > 0) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (columns_of(text) > columns) {
    std::size_t end = bytes_within(text, columns);
    const bool at_gap = text[end] == ' ';
    if (const std::size_t gap = text.substr(0, end).rfind(' ');
        !at_gap && gap != std::string_view::npos && gap > 0) {
      end = gap;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

void Table::widen() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto* const rows : {&rows_, &foreseen_}) {
      for (const auto& row : *rows) {
        if (row.cells.empty()) continue;
        widths_[i] = std::max(widths_[i], columns_of(row.cells[i].text));
      }
    }
    if (most_[i] > 0) widths_[i] = std::min(widths_[i], most_[i]);
  }
}

std::size_t Table::width_before_last() const {
  std::size_t width = 0;
  for (std::size_t i = 0; i + 1 < columns_.size(); ++i) width += shown_[i] ? widths_[i] + 2 : 0;
  return width;
}

/// Columns that may go go first, then others are narrowed, until the last one has room to be read.
void Table::fit(std::size_t width) {
  constexpr std::size_t kReadable = 24;
  std::size_t wanted = std::min(widths_.back(), std::max(kReadable, width * 2 / 5));
  const auto excess = [&] {
    const std::size_t needed = width_before_last() + wanted;
    return needed > width ? needed - width : 0;
  };
  const auto drop_above = [&](int least_rank) {
    while (excess() > 0) {
      std::size_t victim = columns_.size();
      for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
        const bool may = shown_[i] && columns_[i].drop >= least_rank;
        if (may && (victim == columns_.size() || columns_[i].drop > columns_[victim].drop)) {
          victim = i;
        }
      }
      if (victim == columns_.size()) return;
      shown_[victim] = false;
    }
  };
  constexpr int kBeforeNarrowing = 5;
  drop_above(kBeforeNarrowing);
  for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
    const std::size_t least = columns_[i].least;
    if (least == 0 || widths_[i] <= least) continue;
    most_[i] = widths_[i] - std::min(widths_[i] - least, excess());
    widths_[i] = most_[i];
  }
  wanted = std::min(wanted, kReadable);
  drop_above(1);
}

std::string Table::line_of(const std::vector<Cell>& row, const Look& look) const {
  constexpr std::size_t kFewest = 10;  // columns, in which words may be broken
  std::string line;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    if (!shown_[i]) continue;
    const std::string cell = most_[i] > 0 ? cut(row[i].text, most_[i]) : row[i].text;
    line += painted(padded(cell, widths_[i], columns_[i].align), row[i].colour, look) + "  ";
  }
  const std::size_t before = width_before_last();
  const Cell& last = row.back();
  const bool is_right = columns_.back().align == Align::Right;
  const std::size_t left = look.width && *look.width > before ? *look.width - before : 0;
  const bool has_room = !last.longer.empty() && (!look.width || columns_of(last.longer) <= left);
  std::vector<std::string> parts = {has_room ? last.longer : last.text};
  if (look.width && rest_ == Rest::Cut) {
    parts = {cut(parts.front(), left)};
  } else if (look.width)
    parts = wrapped(parts.front(), std::max(left, std::min(kFewest, *look.width)));
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string whole = i == 0 ? line : std::string(before, ' ');
    const std::string part = is_right ? padded(parts[i], widths_.back(), Align::Right) : parts[i];
    whole += painted(part, last.colour, look);
    trim_end(whole);
    text += whole + "\n";
  }
  return text;
}

std::string Table::text(const Look& look) {
  std::string text;
  const bool is_first = widths_.empty();
  if (is_first) {
    for (const Column& column : columns_) widths_.push_back(columns_of(column.title));
    shown_.assign(columns_.size(), true);
    most_.assign(columns_.size(), 0);
  }
  widen();
  if (is_first && look.width) fit(*look.width);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Colour::Bold});
  if (is_first) text = line_of(titles, look);
  for (const Row& row : rows_) {
    if (!row.cells.empty()) {
      text += line_of(row.cells, look);
      continue;
    }
    const std::size_t indent = row.line.text.find_first_not_of(' ');
    const std::string margin(indent == std::string::npos ? 0 : indent, ' ');
    const std::size_t left =
        look.width ? *look.width - std::min(*look.width / 2, margin.size()) : 0;
    std::vector<std::string> parts = {row.line.text.substr(margin.size())};
    if (look.width) parts = wrapped(parts.front(), left);
    for (std::string line : parts) {
      trim_end(line);
      text += painted(margin + line, row.line.colour, look) + "\n";
    }
  }
  rows_.clear();
  foreseen_.clear();
  return text;
}

namespace {

/// The bytes of a colour's sequence at the front; 0 if there is none.
std::size_t colour_size(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

/// Columns it takes, its colours not counted.
std::size_t shown_columns(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t colour = colour_size(text);
    if (colour == 0) plain += text.front();
    text.remove_prefix(std::max<std::size_t>(colour, 1));
  }
  return columns_of(plain);
}

/// Where a line goes on: below what is behind its first gap of two blanks.
std::size_t hanging(std::string_view line, std::size_t width) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  if (gap != std::string_view::npos) {
    const std::size_t behind = line.find_first_not_of(' ', gap);
    if (behind != std::string_view::npos) {
      const std::size_t column = shown_columns(line.substr(0, behind));
      if (column * 2 <= width) return column;
    }
  }
  // Of an option whose words reach to the column of what it does.
  constexpr std::size_t kHelp = 30;
  const bool is_option = line.starts_with("  -") && line.size() > kHelp && line[kHelp - 1] == ' ';
  if (is_option && kHelp * 2 <= width) return kHelp;
  constexpr std::size_t kDeep = 8;
  return std::min(first < kDeep ? first + 4 : first, width / 2);
}

void fold_line(std::string_view line, std::size_t width, std::string& text) {
  const std::size_t indent = hanging(line, width);
  std::size_t used = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t columns = shown_columns(line.substr(word, end - word));
    if (used > indent && used + (word - at) + columns > width) {
      text += "\n" + std::string(indent, ' ');
      used = indent;
    } else {
      text.append(word - at, ' ');
      used += word - at;
    }
    text += line.substr(word, end - word);
    used += columns;
    at = end;
  }
}

}  // namespace

std::string folded(std::string_view text, const Look& look) {
  if (!look.width) return std::string(text);
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (shown_columns(line) <= *look.width) {
      lines += line;
    } else {
      fold_line(line, *look.width, lines);
    }
    if (end < text.size()) lines += '\n';
    at = end + 1;
  }
  return lines;
}

void Page::line(const std::string& key, const std::string& value, Colour colour) {
  if (value.empty() || value == "-") return;
  const std::string gap(key.size() < 14 ? 14 - key.size() : 1, ' ');
  const std::size_t before = key.size() + gap.size();
  const bool folds = look_.width && *look_.width > 2 * before;
  const auto parts = folds ? wrapped(value, *look_.width - before) : std::vector{value};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text_ += i == 0 ? painted(key, Colour::Bold, look_) + gap : std::string(before, ' ');
    text_ += painted(parts[i], colour, look_) + "\n";
  }
}

void Page::block(const std::string& title, const std::string& lines) {
  if (lines.empty()) return;
  text_ += "\n" + painted(title, Colour::Bold, look_) + "\n" + folded(lines, look_);
}

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  return report_failure(std::string("standard output: ") + std::strerror(errno));
}

}  // namespace berth::cli
