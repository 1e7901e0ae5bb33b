// What tells a job's program beside the words of its command: the variables that were typed for the
// job, and what is in the scripts and configurations that the command names.
//
// A file that was edited is another program's, whose memory was not measured yet. Files are read
// here, as their user; berthd reads none.
#pragma once

#include <string>
#include <vector>

namespace berth::cli {

struct ProgramSource {
  std::vector<std::string> command;
  std::string directory;               ///< That of the job; names of files are relative to it.
  std::vector<std::string> variables;  ///< `NAME=value`, in any order.
};

/// As the key `program_words` takes them: the variables and digests of files. Files count that the
/// command names (`.sh`, `.yaml`, `.json` and the like, but no `.py`: code changes all the time),
/// the script that it begins with, and make's own; the first 16 of at most 256 KiB. Lines that are
/// comments do not count.
std::vector<std::string> program_words(const ProgramSource& source);

}  // namespace berth::cli
