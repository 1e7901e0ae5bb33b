// The source tree as text, for rules that read it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tidy {

struct Source {
  std::string path;  ///< From the top of the tree, with slashes: `src/core/job.hpp`.
  std::string text;
};

/// What a rule objects to.
struct Finding {
  std::string path;
  std::size_t line = 0;  ///< From 1; 0: the file as a whole.
  std::string what;

  bool operator==(const Finding&) const = default;
};
/// `path:line: what`, as compilers print it.
std::ostream& operator<<(std::ostream& out, const Finding& finding);

using Findings = std::vector<Finding>;

/// Every text file below `top`, by path; not what is built, versioned data or hidden, but .ci.
std::vector<Source> read_tree(const std::filesystem::path& top);

std::vector<std::string_view> lines_of(std::string_view text);

/// The text with comments and the insides of string and character literals blanked; same length,
/// same lines.
std::string code_only(std::string_view text);

/// `word` in `line` with no letter, digit or underscore beside it.
bool has_word(std::string_view line, std::string_view word);

/// The path's part `n`, from 0: part(`src/core/job.hpp`, 1) is `core`; empty if there is none.
std::string_view part(std::string_view path, std::size_t n);

bool is_cpp(const Source& source);     ///< .hpp, .cpp.
bool is_header(const Source& source);  ///< .hpp, .h.

}  // namespace berth::tidy
