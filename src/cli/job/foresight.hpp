// What can be told of a job's files at its submission, by looking where it is going to run: what
// cannot work is refused now, what may not work is warned of. A job may start hours later.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth::cli {

struct FilesOfJob {
  std::string directory;                 ///< Absolute.
  std::vector<std::string> command;      ///< May be empty.
  std::string output;                    ///< As typed, with its %; "": none.
  std::vector<std::string> environment;  ///< Of the job.
  bool is_typed = true;  ///< The command; else it was made of a script and its lines.
};

/// Returns: warnings. Errors: InvalidArgument for a program that is no file to be executed, and for
/// an output that is a folder or lies in something that is none.
Expected<std::vector<std::string>> look_ahead(const FilesOfJob& job);

/// True for an interpreter that is to read its program from its standard input: `bash -s`,
/// `python3 -`, `python3`.
bool reads_program_from_input(const std::vector<std::string>& command);

}  // namespace berth::cli
