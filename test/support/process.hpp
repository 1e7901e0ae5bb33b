// Runs the programs under test as a user would, in a folder of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace berth::test {

struct Ran {
  int exit_code = -1;  ///< 128 + the signal's number for one that was killed.
  std::string out;
  std::string err;
};

/// Runs a program of this build to its end, with an empty standard input.
Ran run_program(const std::string& name, const std::vector<std::string>& arguments);

/// A new folder that goes with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file there. Returns: its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace berth::test
