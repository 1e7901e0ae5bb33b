// What tells a job's program beside the words of its command: the variables that were typed for the
// job, and what is in the scripts and configurations that the command names.
//
// A file that was edited is another program's, whose memory was not measured yet. Files are read
// here, as their user; berthd reads none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace berth::cli {

struct ProgramSource {
  std::vector<std::string> command;
  std::string directory;               ///< That of the job; names of files are relative to it.
  std::vector<std::string> variables;  ///< `NAME=value`, in any order.
};

/// `python3` of `/usr/bin/python3 t.py`.
std::string name_of_program(const std::vector<std::string>& command);
/// Python, a shell and the like, which run a file that the command names.
bool is_interpreter(const std::vector<std::string>& command);
/// That file: `t.py` of `python -u t.py`; "" where none is to be seen.
std::string script_of(const std::vector<std::string>& command);

/// A regular file of at most 256 KiB; nothing for any other. Never waits.
std::optional<std::string> text_of_file(const std::filesystem::path& path);

/// As the key `program_words` takes them: the variables and digests of files. Files count that the
/// command names (`.sh`, `.yaml`, `.json` and the like, but no `.py`: code changes all the time),
/// the script that it begins with, and make's own; the first 16 of at most 256 KiB. Lines that are
/// comments do not count.
std::vector<std::string> program_words(const ProgramSource& source);

}  // namespace berth::cli
