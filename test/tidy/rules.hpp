// The rules that a test can judge without taste. Each takes text and returns what it objects to.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source.hpp"

namespace berth::tidy {

// Of one file.

/// By level, the levels whose headers it may include.
using Levels = std::map<std::string, std::set<std::string>>;

/// An include of src/ points to its own level or to one that it links; emu includes only itself.
Findings levels(const Source& source, const Levels& all);
/// No clock, chance, environment, terminal, thread or hash order below the shells.
Findings banned_calls(const Source& source);
/// A policy file opens with a few lines at most: rule, source and cost are in its About. A part of
/// a policy, which has a header of its own, says in that what it is for.
Findings policy_headers(const Source& source);
Findings pragma_once(const Source& source);
/// 100 columns at most, but between `// clang-format off` and `on`.
Findings long_lines(const Source& source);
/// No macro but the assertion.
Findings macros(const Source& source);
/// What may wait for a file or a process of a user's is called only where waits.cpp says why: the
/// engine's thread serves everybody.
Findings waits(const Source& source);
/// No function of the C library that answers in memory which all threads share: it has one with _r.
Findings shared_answers(const Source& source);
/// Work left for later has an issue number.
Findings todos(const Source& source);
/// Text must make sense on any machine: no path that exists on one only.
Findings machine_paths(const Source& source);

// Of the whole tree.

/// What the lines `berth_level(NAME LINKS ...)` of src/CMakeLists.txt say.
Levels levels_of(std::span<const Source> tree);
/// The table of levels in this document has a row for each level, which names what it links.
Findings level_rows(std::span<const Source> tree, std::string_view path);

/// By level, its folders left to right; `.` is the level's own.
using Wings = std::map<std::string, std::vector<std::string>>;
/// What the calls `berth_wings(LEVEL FOLDER...)` of src/CMakeLists.txt say.
Wings wings_of(std::span<const Source> tree);
/// A file of a level with wings is in one of them and includes only its own and those left of it. A
/// wing has at most 20 files, a header and its source being one, of which at most five stand on
/// each other.
Findings wings(std::span<const Source> tree);

/// Below src, emu and lab a type, and what is inline, is defined once in a namespace: no linker
/// objects to a second one, and programs that have both do with one what is written for the other.
Findings names_defined_twice(std::span<const Source> tree);
/// Permits of waits.cpp that are not needed any more.
Findings idle_permits(std::span<const Source> tree);
/// Pages that name berth's version name that of `project(berth VERSION ...)` in CMakeLists.txt.
Findings versions(std::span<const Source> tree);
/// Headers that are not included; sources that no CMakeLists.txt takes in.
Findings dead_files(std::span<const Source> tree);
/// Headers of src/policy/kit that fewer than two other files of src include: a part joins the kit
/// with its second user, and lies beside the first until then.
Findings lonely_parts(std::span<const Source> tree);
/// Links in *.md to files that are not there.
Findings broken_links(std::span<const Source> tree);
/// Every row of a table in this document names a test as `Suite.Name`, and every test it names is
/// there.
Findings untested_rows(std::span<const Source> tree, std::string_view path);
/// Every name has `test/golden/KIND/NAME.txt`, and that scenario runs it.
Findings missing_goldens(std::span<const Source> tree, std::string_view kind,
                         std::span<const std::string> names);
/// Every name begins a line of this file, up to an `@`.
Findings missing_rows(const Source& table, std::span<const std::string> names);

}  // namespace berth::tidy
