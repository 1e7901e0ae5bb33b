// The files that processes of a running job write to instead of its log.
#pragma once

#include <string>
#include <vector>

namespace berth::cli {

struct WrittenFile {
  std::string path;
  std::string program;  ///< The first process that was seen to write there.
};

/// What is standard output or error of a process of this job on this machine, each once, in the
/// order of the processes' numbers. Only processes that the caller may look into are seen.
/// O(processes of the machine); no file system but /proc is asked.
std::vector<WrittenFile> files_written_by(const std::string& job);

}  // namespace berth::cli
