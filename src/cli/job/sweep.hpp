// The jobs of a sweep as they are typed: `--param lr=0.1,0.01 --param seed=1-5` (a grid),
// `--param-file points.csv` (a table), `--lines FILE` (a command on each line).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/job/submission.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

struct Sweep {
  std::vector<std::string> names;                ///< Of the parameters.
  std::vector<std::vector<std::string>> points;  ///< Their values, for each job.
};

/// `lr=0.1,0.01`: a parameter and its values. `1-5`, `01-10` and `1-9:2` are ranges; what stands in
/// double quotes is one text, as it is with `\,` for its commas, or in braces: `{"a": 1, "b": 2}`.
/// Errors: InvalidArgument.
Expected<Sweep> parse_param(std::string_view typed);
/// The names in the first line, a point in each that follows, between commas or, if the first line
/// has one, tabs. Errors: InvalidArgument as `FILE:LINE: ...`.
Expected<Sweep> parse_points(std::string_view text, const std::string& file);
/// The commands of a file, as the one parameter `line`: without blank lines and comments, and with
/// lines joined that end in a backslash. Errors: InvalidArgument.
Expected<Sweep> parse_lines(std::string_view text, const std::string& file);

/// Every point of one with every point of the other, whose change faster. Errors: InvalidArgument
/// for a name that both have, and for more than an array may have.
Expected<Sweep> crossed(const Sweep& slow, const Sweep& fast);

/// Makes the command of `--lines` that of each line, and gives the sweep a name if it has none.
/// Errors: InvalidArgument if a command was typed.
Expected<void> take_lines_option(JobOptions& options);

/// What the options say; empty for no sweep. Reads the files that they name, `-` is standard input.
/// Errors: of the above; Io.
Expected<Sweep> sweep_of(const JobOptions& options);

/// Errors: InvalidArgument for a parameter in a name, a comment or an output, where none is filled.
Expected<void> check_labels(const Sweep& sweep, const JobOptions& options);

/// Errors: InvalidArgument for a name in the command's braces that no parameter has, and for a
/// parameter that nothing reads: it stands in no braces, and no word and no file that is a word of
/// the command, seen from `directory`, has its variable.
Expected<void> check_use(const Sweep& sweep, const std::vector<std::string>& command,
                         const std::string& directory);

}  // namespace berth::cli
