// What is known of suspended jobs, on disk: a file for each, named by the job's number, that holds
// an errand. It is there from before the job's first process is touched until it runs again, so
// that the next daemon can go on after a crash at any point.
//
// Belongs to the engine's thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/suspend/suspend_errand.hpp"

namespace berth::daemon {

class SuspendFiles {
 public:
  /// Makes the folder, if it is not there.
  explicit SuspendFiles(std::string folder);

  /// Those of an earlier daemon. Files that are none are passed over.
  std::vector<Errand> load() const;
  /// Replaces the job's file as a whole. Returns: false if it cannot be written.
  bool write(const Errand& errand) const;
  void remove(JobId job) const;
  std::string path_of(JobId job) const;

 private:
  const std::string folder_;
};

}  // namespace berth::daemon
