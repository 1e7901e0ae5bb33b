// The rules that a test can judge without taste. Each takes text and returns what it objects to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source.hpp"

namespace berth::tidy {

// Of one file.

/// An include may only point to the same level or left of it.
Findings levels(const Source& source);
/// No clock, chance, environment, terminal, thread or hash order below the shells.
Findings banned_calls(const Source& source);
/// A policy file opens with its rule, what it reads, how it differs from the paper, and its cost.
Findings policy_headers(const Source& source);
Findings pragma_once(const Source& source);
/// 100 columns at most, but between `// clang-format off` and `on`.
Findings long_lines(const Source& source);
/// No macro but the assertion.
Findings macros(const Source& source);
/// Work left for later has an issue number.
Findings todos(const Source& source);
/// Text must make sense on any machine: no path that exists on one only.
Findings machine_paths(const Source& source);

// Of the whole tree.

/// Headers nobody includes; sources that no CMakeLists.txt takes in.
Findings dead_files(std::span<const Source> tree);
/// Links in *.md to files that are not there.
Findings broken_links(std::span<const Source> tree);
/// Every row of a table in this document names a test as `Suite.Name`, and every test it names is
/// there.
Findings untested_rows(std::span<const Source> tree, std::string_view path);
/// Every name has `test/golden/KIND/NAME.txt`, and that scenario runs it.
Findings missing_goldens(std::span<const Source> tree, std::string_view kind,
                         std::span<const std::string> names);

}  // namespace berth::tidy
