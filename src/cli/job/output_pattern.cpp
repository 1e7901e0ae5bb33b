#include "cli/job/output_pattern.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "core/text/file_pattern.hpp"

namespace berth::cli {

namespace {

/// As it is, whatever berthd fills in later.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '%' ? "%%" : std::string(1, c);
  return safe;
}

/// Nothing for a letter that stands for nothing.
std::optional<std::string> meaning_of(char letter, std::string_view width,
                                      const PatternFacts& facts) {
  switch (letter) {
    case 'x':
      return escaped(facts.name);
    case 'u':
      return escaped(facts.user);
    case 'N':
      return escaped(facts.host);
    case 'n':
    case 't':
      return "0";
    case 's':
      return "batch";
    case 'j':
    case 'J':
      return '%' + std::string(width) + 'j';
    case 'A':
    case 'a':
      return '%' + std::string(width) + letter;
    case '%':
      return "%%";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string filled_pattern(std::string_view pattern, const PatternFacts& facts) {
  return fill_pattern(pattern, [&](char letter, std::string_view width) {
    return meaning_of(letter, width, facts);
  });
}

PatternFacts facts_here(std::string name) {
  std::array<char, 16'384> line{};
  passwd entry{};
  passwd* found = nullptr;
  static_cast<void>(::getpwuid_r(::getuid(), &entry, line.data(), line.size(), &found));
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {.name = std::move(name),
          .user = found == nullptr ? std::to_string(::getuid()) : entry.pw_name,
          .host = std::string(host.data()).substr(0, std::string_view(host.data()).find('.'))};
}

}  // namespace berth::cli
