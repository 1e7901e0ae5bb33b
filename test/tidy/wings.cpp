#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "tidy/rules.hpp"

namespace berth::tidy {

namespace {

constexpr std::size_t kMostUnits = 20;
constexpr std::size_t kMostFloors = 5;

/// A header and its source, without their endings, and the units of its wing that they include.
using Units = std::map<std::string, std::set<std::string>>;

/// The folder of a file below src/LEVEL or of an include of it, by the path below the level.
std::string wing_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return std::string(slash == std::string_view::npos ? "." : path.substr(0, slash));
}

std::string unit_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(path.substr(0, dot));
}

/// How many units stand on each other, from this one down.
std::size_t height(const Units& units, const std::string& unit,
                   std::map<std::string, std::size_t>& known) {
  const auto [at, is_new] = known.try_emplace(unit, 1);
  if (!is_new) return at->second;
  std::size_t below = 0;
  for (const std::string& other : units.at(unit)) {
    if (other != unit && units.contains(other))
      below = std::max(below, height(units, other, known));
  }
  return known[unit] = below + 1;
}

/// What `#include "LEVEL/..."` lines name, below the level, with their lines.
std::vector<std::pair<std::size_t, std::string>> includes_of(const Source& source,
                                                             std::string_view level) {
  const std::string start = "#include \"" + std::string(level) + "/";
  std::vector<std::pair<std::size_t, std::string>> found;
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(start)) continue;
    const std::string_view rest = lines[i].substr(start.size());
    found.emplace_back(i + 1, rest.substr(0, rest.find('"')));
  }
  return found;
}

/// A level's own folder, as the heart of `core`, may be as high as what it says of itself takes.
void judge(const std::string& folder, const Units& units, bool height_counts, Findings& findings) {
  if (units.size() > kMostUnits) {
    findings.push_back({folder, 0,
                        "has " + std::to_string(units.size()) + " files, a header and its source " +
                            "being one; at most " + std::to_string(kMostUnits)});
  }
  if (!height_counts) return;
  std::map<std::string, std::size_t> known;
  for (const auto& [unit, includes] : units) {
    const std::size_t floors = height(units, unit, known);
    if (floors > kMostFloors) {
      findings.push_back({folder, 0,
                          unit + " stands on " + std::to_string(floors - 1) +
                              " others here; at most " + std::to_string(kMostFloors - 1)});
    }
  }
}

}  // namespace

Wings wings_of(std::span<const Source> tree) {
  constexpr std::string_view kCall = "\nberth_wings(";
  Wings wings;
  for (const Source& source : tree) {
    if (source.path != "src/CMakeLists.txt") continue;
    for (std::size_t at = source.text.find(kCall); at != std::string::npos;
         at = source.text.find(kCall, at + 1)) {
      const std::size_t begin = at + kCall.size();
      std::istringstream words(source.text.substr(begin, source.text.find(')', begin) - begin));
      std::string level;
      words >> level;
      for (std::string wing; words >> wing;) wings[level].push_back(wing);
    }
  }
  return wings;
}

Findings wings(std::span<const Source> tree) {
  Findings findings;
  for (const auto& [level, all] : wings_of(tree)) {
    std::map<std::string, Units> units;
    const std::string top = "src/" + level + "/";
    const auto place = [&](const std::string& wing) { return std::ranges::find(all, wing); };
    for (const Source& source : tree) {
      if (!is_cpp(source) || !source.path.starts_with(top)) continue;
      const std::string_view path = std::string_view(source.path).substr(top.size());
      const std::string wing = wing_of(path);
      if (place(wing) == all.end()) {
        findings.push_back({source.path, 0, "is in no wing that src/CMakeLists.txt names"});
        continue;
      }
      std::set<std::string>& stands_on = units[wing][unit_of(path)];
      for (const auto& [line, other] : includes_of(source, level)) {
        const std::string target = wing_of(other);
        if (target == wing) stands_on.insert(unit_of(other));
        if (place(target) > place(wing)) {
          findings.push_back(
              {source.path, line, "this wing may not include " + level + "/" + other});
        }
      }
    }
    for (const auto& [wing, of] : units) judge(top + wing, of, wing != ".", findings);
  }
  return findings;
}

}  // namespace berth::tidy
