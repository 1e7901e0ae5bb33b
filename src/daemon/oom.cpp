#include "daemon/oom.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "posix/descriptor.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kNear = 60;  ///< Characters before the words in which talk counts.

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

bool has(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

/// True where a word goes on beyond its end (`step`: -1, before its beginning), as in
/// `recommender`, `fire_prevention` or `faq.py`. Requires: a letter or a digit at the word's end.
bool goes_on(std::string_view text, std::size_t at, int step) {
  const auto letter_at = [&](std::size_t place) {
    return place < text.size() && (is_letter(text[place]) || is_digit(text[place]));
  };
  if (letter_at(at)) return true;
  const bool joins = at < text.size() && (text[at] == '.' || text[at] == '-' || text[at] == '/');
  return joins && letter_at(at + static_cast<std::size_t>(step));
}

/// A whole word, or several.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_end = [](char c) { return is_letter(c) || is_digit(c); };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool begins = !is_end(word.front()) || at == 0 || !goes_on(text, at - 1, -1);
    if (begins && (!is_end(word.back()) || !goes_on(text, at + word.size(), 1))) return true;
  }
  return false;
}

bool has_any_word(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has_word(text, word); });
}

/// The parts of `text` between asterisks.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('*', at), text.size());
    if (end > at) parts.push_back(lowered(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

/// Where all parts are in the line, in their order. Returns: where the first begins.
std::optional<std::size_t> find_parts(std::string_view line,
                                      const std::vector<std::string>& parts) {
  std::optional<std::size_t> first;
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t at = line.find(part, from);
    if (at == std::string_view::npos) return std::nullopt;
    if (!first) first = at;
    from = at + part.size();
  }
  return first;
}

/// `*` in a word of the lists, too.
bool says(std::string_view line, std::string_view words) {
  return has(words, "*") ? find_parts(line, parts_of(words)).has_value() : has(line, words);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t|>");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

bool is_of_other_memory(std::string_view line) {
  return std::ranges::any_of(other_memory(),
                             [&](std::string_view words) { return says(line, words); });
}

/// `before`: what stands before the words in their line.
bool is_talk(std::string_view before) {
  const std::string_view whole = trimmed(before);
  if (before.size() > kNear) before.remove_prefix(before.size() - kNear);
  return std::ranges::any_of(talk(), [&](std::string_view words) {
    return words.front() == '^' ? whole.starts_with(words.substr(1)) : has_word(before, words);
  });
}

bool is_warning(std::string_view text) {
  return has_word(text, "warn") || has_word(text, "warning");
}

/// A line of a program that goes on says less. `before`: the words.
Certainty by_level(Certainty certainty, std::string_view line, std::string_view before) {
  if (has_word(before, "info") || has_word(before, "debug")) return Certainty::Possible;
  if (has_any_word(line, caught())) return Certainty::Possible;
  return is_warning(before) ? std::min(certainty, Certainty::Likely) : certainty;
}

/// `[3] throw_api_error` of a stack trace.
bool is_frame(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.size() > 2 && text[0] == '[' && is_digit(text[1]) && has(text.substr(0, 5), "]");
}

/// `epoch 7`, or `7 it/s`.
bool shows_progress(std::string_view line) {
  return std::ranges::any_of(line, is_digit) && has_any_word(line, progress());
}

/// Of a program that ends itself in other languages, or is ended; often what follows from a failed
/// allocation.
bool is_crash(std::string_view line) {
  return has(line, "segmentation fault") || has(line, "panicked at") ||
         has(line, "panic: runtime error") || has(line, "bus error") ||
         (has(line, "assertion ") && has(line, "failed"));
}

/// `KeyError: labels`, with what a log puts in front: the name of a fault, and a colon or nothing.
bool names_fault(std::string_view line) {
  if (is_frame(line)) return false;
  for (const std::string_view kind : {"error", "exception"}) {
    for (std::size_t at = line.find(kind); at != std::string_view::npos;
         at = line.find(kind, at + 1)) {
      const std::size_t end = at + kind.size();
      const bool ends = end == line.size() || line[end] == ':';
      if (!ends || (at > 0 && !is_word(line[at - 1]) && trimmed(line).find(kind) != 0)) continue;
      std::size_t begin = at;
      while (begin > 0 && is_word(line[begin - 1])) --begin;
      const std::string_view before = trimmed(line.substr(0, begin));
      if (!before.starts_with("except") && !before.starts_with("raise")) return true;
    }
  }
  return has(line, "command not found") || has(line, "no such file or directory") ||
         has(line, "permission denied") || has(line, ": error: unrecognized arguments") ||
         has(line, ": error: argument") || has(line, ": error: the following arguments") ||
         has(line, "exception in thread \"");
}

bool is_consequence(std::string_view line) {
  return std::ranges::any_of(consequences(),
                             [&](std::string_view words) { return has(line, words); });
}

/// The next fault is of the same end: what was on the way, or of an interpreter that cleans up.
bool is_chained(std::string_view line) {
  return has(line, "during handling of the above exception") ||
         has(line, "direct cause of the following exception") ||
         has(line, "exception ignored in") || has(line, "error in atexit") ||
         has(line, "error in sys.excepthook");
}

/// The line around a position: where it begins, and itself.
std::pair<std::size_t, std::string_view> line_at(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  return {begin, text.substr(begin, end - begin)};
}

/// As in `test_cuda_out_of_memory`; words that begin with `_` are the end of a name.
bool is_part_of_name(std::string_view line, std::size_t words) {
  return words > 0 && line[words - 1] == '_' && line[words] != '_';
}

/// A line that tells of it.
struct OomLine {
  Certainty certainty = Certainty::Possible;
  bool warns = false;  ///< Only that.
};
using Lines = std::map<std::size_t, OomLine>;  ///< By where they begin.

/// The most certain of them after which no fault of another kind follows. O(length).
std::optional<Certainty> most_certain(std::string_view text, const Lines& lines) {
  if (lines.empty()) return std::nullopt;
  struct Line {
    std::size_t begin = 0;
    std::string_view text;
    bool has_fault = false;
  };
  std::vector<Line> all;
  bool chained = false;
  for (std::size_t at = lines.begin()->first; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Line line{.begin = at, .text = text.substr(at, end - at)};
    if (is_chained(line.text)) {
      chained = true;
    } else if (!lines.contains(at) && names_fault(line.text) && !is_consequence(line.text)) {
      line.has_fault = !std::exchange(chained, false);
    }
    all.push_back(line);
    at = end + 1;
  }
  std::optional<Certainty> best;
  bool has_progress = false;  // of what follows
  bool has_crash = false;
  for (const Line& line : std::views::reverse(all)) {
    if (const auto told = lines.find(line.begin); told != lines.end()) {
      const bool went_on = told->second.warns && has_progress;
      const Certainty certainty = went_on ? Certainty::Possible : told->second.certainty;
      best = std::max(best.value_or(certainty), certainty);
    }
    const bool shows = shows_progress(line.text);
    if (line.has_fault || (shows && has_crash)) break;
    has_progress |= shows;
    has_crash |= is_crash(line.text);
  }
  return best;
}

}  // namespace

OomWords::OomWords(std::span<const std::string> more) {
  for (const OomRule& rule : oom_rules()) add(rule.words, rule.certainty);
  for (const std::string& words : more) add(words, Certainty::Sure);
}

void OomWords::add(std::string_view words, Certainty certainty) {
  Rule rule{.parts = parts_of(words), .certainty = certainty};
  if (rule.parts.empty()) return;
  const auto longest = std::ranges::max_element(rule.parts, {}, &std::string::size);
  rule.anchor = static_cast<std::size_t>(longest - rule.parts.begin());
  rules_.push_back(std::move(rule));
}

std::optional<Certainty> OomWords::found_in(std::string_view log) const {
  const std::string text = lowered(log);
  Lines lines;
  std::set<std::size_t> others;  // lines that speak of something else; each is judged once
  for (const Rule& rule : rules_) {
    const std::string& anchor = rule.parts[rule.anchor];
    for (std::size_t at = text.find(anchor); at != std::string::npos; at = text.find(anchor, at)) {
      const auto [begin, line] = line_at(text, at);
      at = begin + line.size();  // once for each line, however often it says so
      const auto known = lines.find(begin);
      const bool is_told = known != lines.end() && known->second.certainty >= rule.certainty;
      if (is_told || others.contains(begin)) continue;
      const auto first = find_parts(line, rule.parts);
      if (!first) continue;
      const std::string_view before = line.substr(0, *first);
      if (is_part_of_name(line, *first)) continue;
      if (known == lines.end() && (is_of_other_memory(line) || is_talk(before))) {
        others.insert(begin);
        continue;
      }
      OomLine& told = lines[begin];
      told.warns = is_warning(before);
      told.certainty = std::max(told.certainty, by_level(rule.certainty, line, before));
    }
  }
  return most_certain(text, lines);
}

bool counts(Certainty words, const Witness& witness) {
  const bool is_seen = witness.peak > Bytes(0) && witness.granted > Bytes(0);
  const bool is_near =
      is_seen && witness.peak >= witness.granted - Bytes(witness.granted.raw() / 8);
  const bool is_far = is_seen && witness.peak <= Bytes(witness.granted.raw() / 8);
  switch (words) {
    case Certainty::Sure:
      return true;
    case Certainty::Likely:
      return witness.found_full || !is_far;
    case Certainty::Possible:
      return witness.found_full || is_near;
  }
  return false;
}

bool asks_for_words(const shim::Exit& exit) {
  if (exit.kind == shim::Exit::Kind::Exec || exit.kind == shim::Exit::Kind::Setup) return false;
  constexpr int kBySignal = 128;  // of a shell whose program was killed
  const int signal = exit.kind == shim::Exit::Kind::Signal ? exit.number : exit.number - kBySignal;
  return signal != SIGKILL && signal != SIGTERM && signal != SIGINT && signal != SIGHUP;
}

std::string read_tail(const std::string& path, std::int64_t from, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return "";
  const auto size = std::max(std::int64_t{0}, status.st_size - std::max(std::int64_t{0}, from));
  std::string tail(std::min(static_cast<std::size_t>(size), most), '\0');
  const auto begin = static_cast<off_t>(status.st_size - static_cast<off_t>(tail.size()));
  const ssize_t got = ::pread(file.number(), tail.data(), tail.size(), begin);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return tail;
}

}  // namespace berth::daemon
