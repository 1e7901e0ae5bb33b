// A real cgroup v2 for a test of berthd.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace berth::test {

/// A folder for the cgroups of a daemon's attempts, removed at the end. path() is "" where none can
/// be made.
class Cgroup {
 public:
  Cgroup() {
    for (const std::string top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      const std::string path = top + "/berth-limits-" + std::to_string(::getpid());
      if (!std::filesystem::exists(top + "/cgroup.procs") || ::mkdir(path.c_str(), 0755) != 0)
        continue;
      if (std::filesystem::exists(path + "/cgroup.kill")) {
        path_ = path;
        return;
      }
      ::rmdir(path.c_str());
    }
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup() {
    if (path_.empty()) return;
    for (const std::string& group : groups()) ::rmdir(group.c_str());
    ::rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }
  std::vector<std::string> groups() const {
    std::vector<std::string> groups;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.is_directory()) groups.push_back(entry.path().string());
    }
    return groups;
  }

 private:
  std::string path_;
};

}  // namespace berth::test
