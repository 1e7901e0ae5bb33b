#include "tidy/rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

namespace berth::tidy {

namespace {

struct Ban {
  std::string_view word;
  std::string_view instead;
};

constexpr std::string_view kTime = "time is the `now` that step() is given";
constexpr std::string_view kChance = "use core/base/rng.hpp, seeded by the view or the run";
constexpr std::string_view kWait = "ask for a wake-up with `wake_at`";
constexpr std::string_view kPrint = "return text; the shell prints";
constexpr std::string_view kThread = "threads exist only in shells";
constexpr std::string_view kHash = "use std::map, IdMap or a sorted vector: a hash has no order";

constexpr auto kBans = std::to_array<Ban>({
    {"system_clock", kTime},
    {"steady_clock", kTime},
    {"high_resolution_clock", kTime},
    {"clock_gettime", kTime},
    {"gettimeofday", kTime},
    {"::now(", kTime},
    {"time(nullptr)", kTime},
    {"rand", kChance},
    {"srand", kChance},
    {"random_device", kChance},
    {"mt19937", kChance},
    {"getenv", "take it as a setting"},
    {"sleep", kWait},
    {"usleep", kWait},
    {"nanosleep", kWait},
    {"sleep_for", kWait},
    {"sleep_until", kWait},
    {"std::cout", kPrint},
    {"std::cerr", kPrint},
    {"printf", kPrint},
    {"fprintf", kPrint},
    {"puts", kPrint},
    {"std::thread", kThread},
    {"std::jthread", kThread},
    {"std::mutex", kThread},
    {"std::atomic", kThread},
    {"unordered_map", kHash},
    {"unordered_set", kHash},
    {"unordered_multimap", kHash},
    {"unordered_multiset", kHash},
});

constexpr auto kSharedAnswers = std::to_array<std::string_view>(
    {"getpwent", "getpwnam",  "getpwuid",      "fgetpwent",     "getgrent",
     "getgrnam", "getgrgid",  "fgetgrent",     "localtime",     "gmtime",
     "ctime",    "asctime",   "strtok",        "ttyname",       "getlogin",
     "ptsname",  "getmntent", "gethostbyname", "getservbyname", "inet_ntoa"});

constexpr std::size_t kMostColumns = 100;
constexpr std::size_t kMostHeaderLines = 10;

bool is_below_shells(const Source& source) {
  constexpr std::array levels = {"core", "policy", "engine", "trace", "sim", "report", "live"};
  if (!is_cpp(source) || part(source.path, 0) != "src") return false;
  if (source.path == "src/core/base/assert.cpp") return false;  // its last words go to stderr
  return std::ranges::find(levels, part(source.path, 1)) != levels.end();
}

/// The path in `#include "path"`; nothing for other lines.
std::optional<std::string_view> included(std::string_view line) {
  if (!line.starts_with("#include \"")) return std::nullopt;
  line.remove_prefix(std::string_view("#include \"").size());
  return line.substr(0, line.find('"'));
}

/// Columns, counting a UTF-8 sequence once.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Findings levels(const Source& source, const Levels& all) {
  const bool is_emulator = part(source.path, 0) == "emu";
  if (!is_cpp(source) || (part(source.path, 0) != "src" && !is_emulator)) return {};
  const std::string name(is_emulator ? "emu" : part(source.path, 1));
  const auto level = all.find(name);
  if (level == all.end() && !is_emulator) {
    return {{source.path, 0, "is in no level that src/CMakeLists.txt names"}};
  }
  Findings findings;
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto path = included(lines[i]);
    if (!path) continue;
    const std::string target(part(*path, 0));
    const bool left = level != all.end() && level->second.contains(target);
    if (target != name && !left) {
      findings.push_back({source.path, i + 1, name + " may not include " + std::string(*path)});
    }
  }
  return findings;
}

Findings banned_calls(const Source& source) {
  if (!is_below_shells(source)) return {};
  Findings findings;
  const std::string code = code_only(source.text);
  const auto lines = lines_of(code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const Ban& ban : kBans) {
      if (!has_word(lines[i], ban.word)) continue;
      findings.push_back({source.path, i + 1,
                          std::string(ban.word) + " is banned here: " + std::string(ban.instead)});
    }
  }
  return findings;
}

Findings shared_answers(const Source& source) {
  if (!is_cpp(source) || part(source.path, 0) == "test") return {};
  Findings findings;
  const std::string code = code_only(source.text);
  const auto lines = lines_of(code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with('#')) continue;  // an include of <ctime>
    for (const std::string_view name : kSharedAnswers) {
      if (!has_word(lines[i], name)) continue;
      findings.push_back({source.path, i + 1,
                          std::string(name) + " answers in memory that all threads share: use " +
                              std::string(name) + "_r"});
    }
  }
  return findings;
}

namespace {
/// The line that includes this header of src/.
std::string including(std::string_view path) {
  return "#include \"" + std::string(path.substr(std::string_view("src/").size())) + "\"";
}
}  // namespace

Findings policy_headers(const Source& source) {
  constexpr std::array folders = {"order", "place", "whole"};
  if (!source.path.starts_with("src/policy/") || !source.path.ends_with(".cpp")) return {};
  if (std::ranges::find(folders, part(source.path, 2)) == folders.end()) return {};
  const std::string stem = source.path.substr(0, source.path.size() - 4);
  if (source.text.starts_with(including(stem + ".hpp"))) return {};
  std::size_t count = 0;
  for (const std::string_view line : lines_of(source.text)) {
    if (!line.starts_with("//")) break;
    ++count;
  }
  if (count == 0) return {{source.path, 1, "has no opening comment"}};
  if (count <= kMostHeaderLines) return {};
  return {{source.path, count,
           "the opening comment has " + std::to_string(count) + " lines, the most is " +
               std::to_string(kMostHeaderLines) + ": what users read is in its About"}};
}

Findings pragma_once(const Source& source) {
  if (!source.path.ends_with(".hpp")) return {};
  const std::string code = code_only(source.text);
  for (const std::string_view line : lines_of(code)) {
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    if (line == "#pragma once") return {};
    break;
  }
  return {{source.path, 0, "its first line of code is not #pragma once"}};
}

Findings long_lines(const Source& source) {
  if (!is_cpp(source)) return {};
  Findings findings;
  bool off = false;
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with("// clang-format off")) off = true;
    if (lines[i].ends_with("// clang-format on")) off = false;
    if (off || columns(lines[i]) <= kMostColumns) continue;
    findings.push_back({source.path, i + 1,
                        std::to_string(columns(lines[i])) + " columns, the most is " +
                            std::to_string(kMostColumns)});
  }
  return findings;
}

Findings macros(const Source& source) {
  if (!is_cpp(source) || source.path == "src/core/base/assert.hpp") return {};
  Findings findings;
  const std::string code = code_only(source.text);
  const auto lines = lines_of(code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t first = lines[i].find_first_not_of(' ');
    if (first == std::string_view::npos || lines[i][first] != '#') continue;
    if (has_word(lines[i], "define")) {
      findings.push_back({source.path, i + 1, "defines a macro; use a function or a constant"});
    }
  }
  return findings;
}

Findings todos(const Source& source) {
  Findings findings;
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // Split words, so that this file does not find itself.
    for (const std::string_view word : {"TO"
                                        "DO",
                                        "FIX"
                                        "ME",
                                        "XX"
                                        "X"}) {
      const std::size_t at = lines[i].find(word);
      if (at == std::string_view::npos || !has_word(lines[i], word)) continue;
      const std::string_view after = lines[i].substr(at + word.size());
      const bool numbered =
          after.size() > 2 && after.starts_with("(#") && after[2] >= '0' && after[2] <= '9';
      if (!numbered) {
        findings.push_back(
            {source.path, i + 1,
             std::string(word) + " without an issue number, as in " + std::string(word) + "(#12)"});
      }
    }
  }
  return findings;
}

Findings machine_paths(const Source& source) {
  Findings findings;
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view path : {"/wo"
                                        "rk/",
                                        "/ro"
                                        "ot/",
                                        "/ho"
                                        "me/"}) {
      const std::size_t at = lines[i].find(path);
      if (at == std::string_view::npos) continue;
      const bool absolute =
          at == 0 ||
          std::string_view(" \t\"'`(=:<>,;[{").find(lines[i][at - 1]) != std::string_view::npos;
      if (absolute) findings.push_back({source.path, i + 1, "names a path of one machine"});
    }
  }
  return findings;
}

// ---- The whole tree --------------------------------------------------------------------------

namespace {

const Source* find(std::span<const Source> tree, std::string_view path) {
  const auto found = std::ranges::find(tree, path, &Source::path);
  return found == tree.end() ? nullptr : &*found;
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

std::string joined(const std::string& folder, std::string_view path) {
  return folder.empty() ? std::string(path) : folder + "/" + std::string(path);
}

/// `*` stands for anything, slashes too: GLOB_RECURSE.
bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view tail = pattern.substr(star + 1);
  return text.starts_with(pattern.substr(0, star)) && text.substr(star).size() >= tail.size() &&
         text.ends_with(tail);
}

/// The words of a CMake file, without comments.
std::vector<std::string> words_of(std::string_view cmake) {
  std::vector<std::string> words(1);
  for (const std::string_view line : lines_of(cmake)) {
    for (const char c : line.substr(0, line.find('#'))) {
      if (std::string_view(" \t()\"").find(c) == std::string_view::npos) {
        words.back().push_back(c);
      } else if (!words.back().empty()) {
        words.emplace_back();
      }
    }
    if (!words.back().empty()) words.emplace_back();
  }
  return words;
}

/// What stands in backquotes in the first two cells of a table's row.
std::vector<std::string> words_of_row(std::string_view row) {
  std::vector<std::string> words;
  int cell = 0;
  for (std::size_t at = 0; at < row.size() && cell < 3; ++at) {
    if (row[at] == '|') ++cell;
    if (row[at] != '`') continue;
    const std::size_t end = row.find('`', at + 1);
    if (end == std::string_view::npos) break;
    words.emplace_back(row.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

/// Without a leading `${FOLDER}/`.
std::string_view from_here(std::string_view word) {
  return word.starts_with("${") ? word.substr(word.find('/') + 1) : word;
}

/// True if this CMake file takes in `path`, given from the file's own folder.
bool takes_in(const Source& cmake, std::string_view path) {
  const auto words = words_of(cmake.text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool whole_folder =
        i > 0 && (words[i - 1] == "berth_level" || words[i - 1] == "berth_test");
    if (whole_folder && part(path, 0) == words[i] && path.size() > words[i].size()) return true;
    if (whole_folder && folder_of(cmake.path) == "test/" + words[i]) return true;
    if (words[i].ends_with(".cpp") && matches(from_here(words[i]), path)) return true;
  }
  return false;
}

/// True if the CMake files above take in this folder's one.
bool is_added(std::span<const Source> tree, const std::string& folder) {
  if (folder.empty()) return true;
  std::string above = folder;
  do {
    above = folder_of(above);
    const Source* const cmake = find(tree, joined(above, "CMakeLists.txt"));
    if (cmake == nullptr) continue;
    const std::string below = folder.substr(above.empty() ? 0 : above.size() + 1);
    const auto words = words_of(cmake->text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != "add_subdirectory") continue;
      const bool all = words[i + 1] == "${folder}" && below.find('/') == std::string::npos;
      if (words[i + 1] == below || all) return is_added(tree, above);
    }
    return false;
  } while (!above.empty());
  return false;
}

bool is_built(std::span<const Source> tree, const Source& source) {
  std::string folder = folder_of(source.path);
  for (;; folder = folder_of(folder)) {
    if (const Source* const cmake = find(tree, joined(folder, "CMakeLists.txt"))) {
      const std::string path = source.path.substr(folder.empty() ? 0 : folder.size() + 1);
      if (takes_in(*cmake, path)) return is_added(tree, folder);
    }
    if (folder.empty()) return false;
  }
}

/// As others include it: a header of emu/ or lab/ by its path, one of src/ or test/ without that.
std::string_view as_included(std::string_view header) {
  const bool from_top = header.starts_with("emu/") || header.starts_with("lab/");
  return from_top ? header : header.substr(header.find('/') + 1);
}

/// What some file of the tree includes that it is not itself.
std::set<std::string, std::less<>> all_included(std::span<const Source> tree) {
  std::set<std::string, std::less<>> all;
  for (const Source& source : tree) {
    for (const std::string_view line : lines_of(source.text)) {
      const auto path = included(line);
      if (path && *path != as_included(source.path)) all.emplace(*path);
    }
  }
  return all;
}

/// `a/b/../c` without the detour; empty if it leaves the tree.
std::string straightened(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t n = 0; !part(path, n).empty(); ++n) {
    const std::string_view here = part(path, n);
    if (here == ".") continue;
    if (here == ".." && parts.empty()) return {};
    if (here == "..") {
      parts.pop_back();
    } else {
      parts.push_back(here);
    }
  }
  std::string text;
  for (const std::string_view here : parts) text.append(text.empty() ? "" : "/").append(here);
  return text;
}

bool is_in_tree(std::span<const Source> tree, const std::string& path) {
  return std::ranges::any_of(tree, [&](const Source& source) {
    return source.path == path || source.path.starts_with(path + "/");
  });
}

bool is_local(std::string_view link) {
  return !link.empty() && !link.starts_with('#') && link.find("://") == std::string_view::npos &&
         !link.starts_with("mailto:");
}

}  // namespace

Levels levels_of(std::span<const Source> tree) {
  const Source* const cmake = find(tree, "src/CMakeLists.txt");
  if (cmake == nullptr) return {};
  Levels all;
  for (const std::string_view line : lines_of(cmake->text)) {
    const auto words = words_of(line);
    if (words.size() < 2 || words[0] != "berth_level") continue;
    std::set<std::string>& links = all[words[1]];
    bool is_link = false;
    for (const std::string& word : std::span(words).subspan(2)) {
      if (word == "LINKS" || word == "PROGRAMS") {
        is_link = word == "LINKS";
      } else if (is_link && !word.empty()) {
        links.insert(word);
      }
    }
  }
  return all;
}

Findings level_rows(std::span<const Source> tree, std::string_view path) {
  const Source* const page = find(tree, path);
  if (page == nullptr) return {{std::string(path), 0, "is not there"}};
  Findings findings;
  std::set<std::string> seen;
  const Levels all = levels_of(tree);
  const auto lines = lines_of(page->text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("| `src/")) continue;
    const auto cells = words_of_row(lines[i]);
    const std::string name = cells.empty() ? "" : cells[0].substr(std::string("src/").size());
    const auto level = all.find(name);
    seen.insert(name);
    if (level == all.end()) {
      findings.push_back({page->path, i + 1, "src/" + name + " is no level"});
    } else if (const auto links = std::set(cells.begin() + 1, cells.end());
               links != level->second) {
      findings.push_back({page->path, i + 1, "src/CMakeLists.txt links otherwise"});
    }
  }
  for (const auto& [name, links] : all) {
    if (!seen.contains(name)) findings.push_back({page->path, 0, "has no row for src/" + name});
  }
  return findings;
}

Findings versions(std::span<const Source> tree) {
  constexpr std::string_view kProject = "\nproject(berth VERSION ";
  const Source* const cmake = find(tree, "CMakeLists.txt");
  const std::size_t line = cmake == nullptr ? std::string::npos : cmake->text.find(kProject);
  if (line == std::string::npos) {
    return {{"CMakeLists.txt", 0, "has no line `project(berth VERSION ...`"}};
  }
  const std::size_t from = line + kProject.size();
  const std::string version = cmake->text.substr(from, cmake->text.find(' ', from) - from);
  const std::array<std::pair<std::string_view, std::string>, 3> pages = {{
      {"CHANGELOG.md", "what a user of " + version + " meets"},
      {"CITATION.cff", "\nversion: " + version + "\n"},
      {"doc/openapi.yaml", "\n  version: \"" + version + "\"\n"},
  }};
  Findings findings;
  for (const auto& [path, words] : pages) {
    const Source* const page = find(tree, path);
    if (page != nullptr && page->text.contains(words)) continue;
    findings.push_back({std::string(path), 0, "does not say version " + version});
  }
  return findings;
}

Findings dead_files(std::span<const Source> tree) {
  const auto used = all_included(tree);
  Findings findings;
  for (const Source& source : tree) {
    constexpr std::array ours = {"src", "emu", "lab", "test", "bench"};
    if (std::ranges::find(ours, part(source.path, 0)) == ours.end()) continue;
    if (source.path.ends_with(".hpp") && !used.contains(as_included(source.path))) {
      findings.push_back({source.path, 0, "nobody includes it"});
    }
    if (source.path.ends_with(".cpp") && !is_built(tree, source)) {
      findings.push_back({source.path, 0, "no CMakeLists.txt builds it"});
    }
  }
  return findings;
}

Findings lonely_parts(std::span<const Source> tree) {
  Findings findings;
  for (const Source& part : tree) {
    if (!part.path.starts_with("src/policy/kit/") || !part.path.ends_with(".hpp")) continue;
    const std::string own = part.path.substr(0, part.path.size() - 4) + ".cpp";
    const auto users = std::ranges::count_if(tree, [&](const Source& user) {
      return user.path.starts_with("src/") && user.path != own &&
             user.text.contains(including(part.path));
    });
    if (users >= 2) continue;
    findings.push_back({part.path, 0, std::to_string(users) + " files include it, of two"});
  }
  return findings;
}

Findings broken_links(std::span<const Source> tree) {
  Findings findings;
  for (const Source& source : tree) {
    if (!source.path.ends_with(".md")) continue;
    const auto lines = lines_of(source.text);
    bool fenced = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string_view rest = lines[i];
      if (rest.starts_with("```")) fenced = !fenced;
      if (fenced || rest.starts_with("    ")) continue;  // code
      for (std::size_t at; (at = rest.find("](")) != std::string_view::npos;) {
        rest.remove_prefix(at + 2);
        std::string_view link = rest.substr(0, rest.find(')'));
        if (!is_local(link)) continue;
        link = link.substr(0, link.find('#'));
        const std::string path = straightened(joined(folder_of(source.path), link));
        if (path.empty() || !is_in_tree(tree, path)) {
          findings.push_back(
              {source.path, i + 1, "links to " + std::string(link) + ", which is not there"});
        }
      }
    }
  }
  return findings;
}

namespace {

bool is_name(std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() && word.front() >= 'A' && word.front() <= 'Z' &&
         std::ranges::all_of(word, is_part);
}

/// What stands in backticks and could be a test.
std::vector<std::string_view> tests_named(std::string_view line) {
  std::vector<std::string_view> names;
  for (std::size_t begin; (begin = line.find('`')) != std::string_view::npos;) {
    const std::size_t end = line.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    const std::string_view word = line.substr(begin + 1, end - begin - 1);
    const std::size_t dot = word.find('.');
    if (dot != std::string_view::npos && is_name(word.substr(0, dot)) &&
        is_name(word.substr(dot + 1))) {
      names.push_back(word);
    }
    line.remove_prefix(end + 1);
  }
  return names;
}

bool is_test(std::span<const Source> tree, std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string declared =
      "(" + std::string(name.substr(0, dot)) + ", " + std::string(name.substr(dot + 1)) + ")";
  return std::ranges::any_of(tree, [&](const Source& source) {
    const std::size_t at = is_cpp(source) ? source.text.find(declared) : std::string::npos;
    if (at == std::string::npos) return false;
    const std::string_view before = std::string_view(source.text).substr(0, at);
    return before.ends_with("\nTEST") || before.ends_with("\nTEST_F") ||
           before.ends_with("\nTEST_P");
  });
}

/// Not the head of a table, nor the line under it.
bool is_row(std::span<const std::string_view> lines, std::size_t i) {
  const auto is_rule = [&](std::size_t n) {
    return n < lines.size() && lines[n].starts_with("|--");
  };
  return lines[i].starts_with("|") && !is_rule(i) && !is_rule(i + 1);
}

}  // namespace

Findings untested_rows(std::span<const Source> tree, std::string_view path) {
  const Source* const document = find(tree, path);
  if (document == nullptr) return {{std::string(path), 0, "is not there"}};
  Findings findings;
  const auto lines = lines_of(document->text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto names = tests_named(lines[i]);
    if (is_row(lines, i) && names.empty()) {
      findings.push_back({document->path, i + 1, "the row names no test"});
    }
    for (const std::string_view name : names) {
      if (!is_test(tree, name)) {
        findings.push_back({document->path, i + 1, std::string(name) + " is no test"});
      }
    }
  }
  return findings;
}

Findings missing_goldens(std::span<const Source> tree, std::string_view kind,
                         std::span<const std::string> names) {
  Findings findings;
  for (const std::string& name : names) {
    const std::string path = "test/golden/" + std::string(kind) + "/" + name + ".txt";
    const Source* const golden = find(tree, path);
    if (golden == nullptr) {
      findings.push_back({path, 0, std::string(kind) + " " + name + " has no golden test"});
      continue;
    }
    const auto lines = lines_of(golden->text);
    const std::string says = std::string(kind) + " " + name;
    const bool runs_it = std::ranges::any_of(lines, [&](std::string_view line) {
      return line == says || line.starts_with(says + " ") || line.starts_with(says + ":");
    });
    if (!runs_it) findings.push_back({path, 0, "has no line `" + says + "`"});
  }
  return findings;
}

Findings missing_rows(const Source& table, std::span<const std::string> names) {
  Findings findings;
  const auto lines = lines_of(table.text);
  for (const std::string& name : names) {
    const bool has_row = std::ranges::any_of(
        lines, [&](std::string_view line) { return line.starts_with(name + "@"); });
    if (!has_row) findings.push_back({table.path, 0, "has no row of " + name});
  }
  return findings;
}

}  // namespace berth::tidy
